//! Pictures and logs agree with the report.

use std::{fs, path::Path};

use serde_json::Value;

use crate::common::program::json;

/// The last line of the log, which is the result, and the picture's subtitle.
fn told(folder: &Path, line: &str) -> (Value, Value, String) {
    let (log, svg) = (folder.join("run.jsonl"), folder.join("run.svg"));
    let object =
        json(&format!("{line} --backend cpu --log {} --plot {}", log.display(), svg.display()));
    let log = fs::read_to_string(log).unwrap();
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    (object["result"].clone(), last["result"].clone(), fs::read_to_string(svg).unwrap())
}

#[test]
fn a_polished_value_is_in_the_log_and_in_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let line = "optimize rastrigin -d 3 --preset thorough --evaluations 20000";
    let (mut result, last, svg) = told(folder.path(), line);
    let history = result.as_object_mut().unwrap().remove("history").unwrap();
    assert_eq!(last, result);
    // The states at the start and the end of a polish.
    let history = history.as_array().unwrap();
    assert!(history.windows(2).any(|two| {
        two[0]["iteration"] == two[1]["iteration"]
            && two[1]["best"].as_f64().unwrap() < two[0]["best"].as_f64().unwrap()
    }));
    let value = format!("{:e}", result["value"].as_f64().unwrap());
    let (mantissa, _) = value.split_once('e').unwrap();
    assert!(svg.contains(&format!("best value {mantissa}·10")), "{value}");
}

#[test]
fn a_maximum_has_its_sign_in_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let (result, last, svg) = told(folder.path(), "optimize cubic -d 5 -i 200");
    assert_eq!(last["value"], result["value"]);
    assert_eq!(result["value"], 4.5e6);
    assert!(svg.contains("best value 4.5·10⁶ after") && svg.contains("optimum (4.5·10⁶) − value"));
}

/// The pixels of a PNG, three bytes each, and its width.
fn pixels(path: &Path) -> (Vec<u8>, usize) {
    let file = std::io::BufReader::new(fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (pixels, info.width as usize)
}

#[test]
fn lines_that_coincide_are_told_apart_and_have_smooth_edges() {
    let folder = tempfile::tempdir().unwrap();
    let line = "optimize sphere -d 3 -i 60 --backend cpu --plot";
    let (svg, png) = (folder.path().join("run.svg"), folder.path().join("run.png"));
    crate::common::program::succeeds(&format!("{line} {}", svg.display()));
    let svg = fs::read_to_string(svg).unwrap();
    let widths = |colour: &str| -> Vec<&str> {
        let of = svg.lines().filter(|line| line.contains(&format!("stroke=\"#{colour}\"")));
        of.filter_map(|line| line.split_once("stroke-width=\"")?.1.split('"').next()).collect()
    };
    let (spread, speed) = (widths("1B8A5A"), widths("8E44AD"));
    assert!(!spread.is_empty() && !speed.is_empty());
    let width = |text: &&str| text.parse::<f64>().unwrap();
    assert!(width(&spread[0]) >= 2.0 * width(&speed[0]), "{spread:?} {speed:?}");
    crate::common::program::succeeds(&format!("{line} {}", png.display()));
    // Between the blue of the best and white there are pixels of many shades.
    let (pixels, _) = pixels(&png);
    let mut shades: Vec<&[u8]> = pixels
        .chunks_exact(3)
        .filter(|rgb| rgb[0] < rgb[2] && rgb[1] < rgb[2] && rgb[2] > rgb[0].saturating_add(40))
        .collect();
    shades.sort_unstable();
    shades.dedup();
    assert!(shades.len() > 3, "{}", shades.len());
}

#[test]
fn a_fit_of_several_arguments_shows_predictions_and_targets() {
    let folder = tempfile::tempdir().unwrap();
    let [data, svg, png] = ["d.csv", "fit.svg", "fit.png"]
        .map(|file| folder.path().join(file).to_str().unwrap().to_owned());
    let rows: String = (0..30)
        .map(|i| (f64::from(i % 5), f64::from(i * 7 % 11)))
        .map(|(a, b)| format!("{a},{b},{}\n", 2.0 * a - 0.5 * b + 0.1 * a.sin()))
        .collect();
    fs::write(&data, format!("面积,房龄,价格\n{rows}")).unwrap();
    let line = format!("fit {data} -m linear --backend cpu --plot");
    crate::common::program::succeeds(&format!("{line} {svg}"));
    let drawn = fs::read_to_string(&svg).unwrap();
    for wanted in ["prediction", "line: where the prediction is the target", "价格"] {
        assert!(drawn.contains(wanted), "{wanted}");
    }
    assert!(!drawn.contains("fitted curve"));
    // Characters without glyphs in the bitmap's font are not dropped: something is written along
    // the axis.
    crate::common::program::succeeds(&format!("{line} {png}"));
    let (pixels, width) = pixels(Path::new(&png));
    let height = pixels.len() / 3 / width;
    let is_ink = |row: usize, column: usize| pixels[3 * (row * width + column)] < 128;
    let ink = (height / 8..height / 2)
        .flat_map(|row| (0..width / 40).map(move |column| (row, column)))
        .filter(|&(row, column)| is_ink(row, column))
        .count();
    assert!(ink > 50, "{ink} dark pixels beside the axis");
}
