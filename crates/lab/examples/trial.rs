use tradewind_lab::*;
fn main() {
    let e = &papers::alp_amp::CYCLES;
    let mut case = Case::new(e, 1, Size::Full);
    for a in std::env::args().skip(1) {
        let (n, v) = a.split_once('=').unwrap();
        let p = e.parameters.iter().find(|p| p.name == n).unwrap();
        let v = p.parse(v).unwrap();
        case = case.with(p, v);
    }
    let t0 = std::time::Instant::now();
    let mut t = Tally::default();
    for i in 0..12 { t.merge(&(e.part)(&case, i)); }
    println!("{:?} {}", t0.elapsed(), case.key());
    for line in t.text().lines() {
        let n = line.split('\t').nth(1).unwrap();
        let m = t.mean(n);
        println!("{n:28} {:10.3} ± {:.3} ({})", m.mean, m.half_width(), m.count);
    }
}
