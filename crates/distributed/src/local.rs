//! Local stages: what each comes to, of which bytes of a rank's part.

use std::ops::Range;

use turntile::Transpose;

/// Ways to do a local stage: what is planned one after the other, each of some bytes of the part.
pub type Ways = Vec<Vec<OfBytes<Transpose>>>;

/// Something of these bytes of a part.
pub type OfBytes<T> = (Range<usize>, T);

/// Each stage by the first of its ways that there is a plan for.
pub fn planned<P>(
    stages: &[Ways],
    plan: impl Fn(&Transpose) -> Result<P, turntile::Error>,
) -> Result<Vec<OfBytes<P>>, turntile::Error> {
    let of_way = |way: &Vec<OfBytes<Transpose>>| {
        way.iter()
            .map(|(range, asked)| Ok((range.clone(), plan(asked)?)))
            .collect::<Result<Vec<_>, _>>()
    };
    let mut all = Vec::new();
    for ways in stages {
        let mut found = Ok(Vec::new());
        for way in ways {
            found = of_way(way);
            if !matches!(found, Err(turntile::Error::Plan(_))) {
                break;
            }
        }
        all.extend(found?);
    }
    Ok(all)
}
