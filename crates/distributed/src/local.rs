//! Local stages: transposes of byte ranges of one rank's part.

use std::ops::Range;

use turntile::{ErrorKind, Transpose};

/// Alternative implementations of one local stage, preferred ones first. Each is a list of
/// transposes that run one after another.
pub type Alternatives = Vec<Vec<OnBytes<Transpose>>>;

/// An item together with the byte range of the rank's part that it applies to.
pub type OnBytes<T> = (Range<usize>, T);

/// Returns the plans of all stages in order, each by its first alternative that `plan` does not
/// reject with [`ErrorKind::NoPlan`].
///
/// # Errors
/// Returns the error of the last alternative if all are rejected, or the first other error.
pub fn plan_stages<P>(
    stages: &[Alternatives],
    plan: impl Fn(&Transpose) -> Result<P, turntile::Error>,
) -> Result<Vec<OnBytes<P>>, turntile::Error> {
    let plan_all = |requests: &Vec<OnBytes<Transpose>>| {
        requests
            .iter()
            .map(|(range, request)| Ok((range.clone(), plan(request)?)))
            .collect::<Result<Vec<_>, _>>()
    };
    let mut all = Vec::new();
    for alternatives in stages {
        let mut result = Ok(Vec::new());
        for requests in alternatives {
            result = plan_all(requests);
            let kind = result.as_ref().err().map(turntile::Error::kind);
            if kind != Some(ErrorKind::NoPlan) {
                break;
            }
        }
        all.extend(result?);
    }
    Ok(all)
}
