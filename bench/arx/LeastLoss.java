// ARX as a peer: the node of least loss, with whole records suppressed.
// Arguments: FILE K SENSITIVE (or -) L KEY=HIERARCHY ...; semicolons between fields.

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXLattice;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.criteria.DistinctLDiversity;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;

public class LeastLoss {
  public static void main(String[] given) throws Exception {
    Data data = Data.create(given[0], StandardCharsets.UTF_8, ';');
    Set<String> keys = new HashSet<>();
    for (int i = 4; i < given.length; i++) {
      String[] parts = given[i].split("=", 2);
      keys.add(parts[0]);
      AttributeType.Hierarchy hierarchy =
          AttributeType.Hierarchy.create(parts[1], StandardCharsets.UTF_8, ';');
      data.getDefinition().setAttributeType(parts[0], hierarchy);
    }
    String sensitive = given[2];
    for (int i = 0; i < data.getHandle().getNumColumns(); i++) {
      String name = data.getHandle().getAttributeName(i);
      if (!keys.contains(name)) {
        data.getDefinition().setAttributeType(
            name,
            name.equals(sensitive)
                ? AttributeType.SENSITIVE_ATTRIBUTE
                : AttributeType.INSENSITIVE_ATTRIBUTE);
      }
    }
    for (int round = 0; round < 2; round++) { // the first warms up
      ARXConfiguration asked = ARXConfiguration.create();
      asked.addPrivacyModel(new KAnonymity(Integer.parseInt(given[1])));
      if (!sensitive.equals("-")) {
        asked.addPrivacyModel(new DistinctLDiversity(sensitive, Integer.parseInt(given[3])));
      }
      asked.setSuppressionLimit(1.0);
      asked.setQualityModel(Metric.createLossMetric(Metric.AggregateFunction.ARITHMETIC_MEAN));
      long start = System.nanoTime();
      ARXResult result = new ARXAnonymizer().anonymize(data, asked);
      double seconds = (System.nanoTime() - start) / 1e9;
      ARXLattice.ARXNode best = result.getGlobalOptimum();
      int suppressed =
          result.getOutput(best).getStatistics().getEquivalenceClassStatistics()
              .getNumberOfSuppressedRecords();
      if (round == 1) {
        System.out.println(
            "RESULT " + best.getHighestScore() + " " + suppressed + " " + seconds + " "
                + String.join(",", best.getQuasiIdentifyingAttributes()) + " "
                + Arrays.toString(best.getTransformation()).replaceAll("[\\[\\] ]", ""));
      }
      data.getHandle().release();
    }
  }
}
