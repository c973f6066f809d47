use turntile::layout::Records;

fn main() {
    let _ = Records::from(vec![String::new()]);
}
