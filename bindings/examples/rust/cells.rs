// The risk of cells from Rust, linked with riskcore.o.
extern "C" {
    fn riskcore_individual_risk(f: f64, p: f64) -> f64;
    fn riskcore_individual_risk_array(f: *const f64, p: *const f64, out: *mut f64, n: i64);
}

/// Return the risk of one cell; nan outside the domain.
fn risk(f: f64, p: f64) -> f64 {
    unsafe { riskcore_individual_risk(f, p) }
}

/// Return the risk of each cell.
fn risks(f: &[f64], p: &[f64]) -> Vec<f64> {
    assert_eq!(f.len(), p.len());
    let mut out = vec![0.0; f.len()];
    unsafe {
        riskcore_individual_risk_array(f.as_ptr(), p.as_ptr(), out.as_mut_ptr(), f.len() as i64);
    }
    out
}

fn main() {
    let f = [1.0, 2.0, 3.0, 2.5, 40.0];
    let p = [0.01, 0.02, 0.5, 0.03, 0.3];
    for (k, each) in risks(&f, &p).iter().enumerate() {
        assert_eq!(*each, risk(f[k], p[k]));
        println!("{each}");
    }
}
