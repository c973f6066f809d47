use std::time::Instant;
fn main() {
    let threads = 1;
    let cases: Vec<(Vec<usize>, Vec<usize>, usize)> = vec![
        (vec![1600, 16, 32, 128], vec![0, 2, 1, 3], 2),
        (vec![4000, 395, 128], vec![1, 0, 2], 1),
        (vec![1500, 8, 128, 128], vec![0, 2, 1, 3], 1),
        (vec![368, 368, 384], vec![2, 1, 0], 4),
        (vec![368, 368, 384], vec![1, 2, 0], 4),
        (vec![368, 368, 384], vec![2, 0, 1], 4),
        (vec![128, 96, 160, 24], vec![2, 0, 3, 1], 4),
        (vec![128, 96, 160, 24], vec![3, 2, 1, 0], 4),
        (vec![64, 64, 112, 112], vec![0, 2, 3, 1], 4),
        (vec![64, 112, 112, 64], vec![0, 3, 1, 2], 4),
        (vec![32, 16, 24, 48, 96], vec![4, 3, 2, 1, 0], 4),
        (vec![48, 14, 28, 28, 48], vec![4, 3, 2, 1, 0], 4),
        (vec![368, 368, 368], vec![2, 1, 0], 4),
        (vec![368, 368, 368], vec![1, 2, 0], 4),
        (vec![307, 401, 421], vec![2, 1, 0], 4),
        (vec![307, 401, 421], vec![1, 2, 0], 4),
        (vec![307, 401, 421], vec![1, 0, 2], 4),
        (vec![3000, 5000, 3], vec![2, 0, 1], 4),
        (vec![3, 3000, 5000], vec![1, 2, 0], 4),
        (vec![400000, 40, 3], vec![1, 0, 2], 4),
        (vec![333, 3, 224, 224], vec![0, 2, 3, 1], 4),
        (vec![8000, 12, 64, 8], vec![0, 2, 1, 3], 4),
        (vec![8000, 12, 64, 8], vec![0, 3, 2, 1], 4),
    ];
    for (shape, axes, eb) in cases {
        let bytes = shape.iter().product::<usize>() * eb;
        let t = turntile::Transpose::of_axes_bytes(eb, &shape, &axes).threads(threads);
        let p = t.plan().unwrap();
        let mut best_plan = f64::MAX;
        for _ in 0..7 {
            let s = Instant::now();
            let _ = t.plan().unwrap();
            best_plan = best_plan.min(s.elapsed().as_secs_f64());
        }
        let mut data = vec![1u8; bytes];
        let mut other = vec![2u8; bytes];
        let mut w = p.workspace().unwrap();
        let (mut c, mut r) = (vec![], vec![]);
        for _ in 0..5 {
            let s = Instant::now();
            other.copy_from_slice(&data);
            c.push(s.elapsed().as_secs_f64());
            let s = Instant::now();
            p.run_with(
                &mut turntile::Bytes(&mut data[..]),
                turntile::Options::new().workspace(&mut w),
            )
            .unwrap();
            r.push(s.elapsed().as_secs_f64());
        }
        c.sort_by(f64::total_cmp);
        r.sort_by(f64::total_cmp);
        println!(
            "{:?} {:?} w{eb}: {:.0} MB {:.0}% of copy ({:.1} GB/s; est {:.0}%) plan {:.0} us: {}",
            shape,
            axes,
            bytes as f64 / 1e6,
            100.0 * c[2] / r[2],
            2.0 * bytes as f64 / r[2] / 1e9,
            100.0 * c[2] / p.plan().seconds,
            best_plan * 1e6,
            p.plan().route_name()
        );
    }
}
