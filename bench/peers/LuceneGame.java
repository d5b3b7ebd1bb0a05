// SPDX-License-Identifier: Apache-2.0
// java -cp JAR LuceneGame.java CORPUS.jsonl INDEX QUERIES PASSES: builds an index with positions (one thread, one segment, nothing
// stored) unless it exists, then times each query: a mode, a tab, and words with + or - before some, or phrases. Prints JSON as
// tantivy_game.py. Queries are made before the clock starts; there is no query cache. A line of CORPUS is {"id": "…", "text": "…"}
// with letters and blanks alone.
import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopScoreDocCollector;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.MMapDirectory;

public class LuceneGame {
    static final Pattern PART = Pattern.compile("([+-]?)(?:\"([^\"]*)\"|(\\S+))");

    static void build(Path corpus, Path folder) throws Exception {
        if (Files.exists(folder)) return;
        IndexWriterConfig config = new IndexWriterConfig(new WhitespaceAnalyzer()).setSimilarity(new BM25Similarity(1.2f, 0.75f));
        config.setRAMBufferSizeMB(1000);
        try (Directory directory = new MMapDirectory(folder); IndexWriter writer = new IndexWriter(directory, config);
                BufferedReader lines = Files.newBufferedReader(corpus)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                int begin = line.indexOf("\"text\": \"") + 9;
                Document document = new Document();
                document.add(new TextField("text", line.substring(begin, line.length() - 2), Field.Store.NO));
                writer.addDocument(document);
            }
            writer.forceMerge(1);
        }
    }

    static Query part(String text) {
        String[] words = text.trim().split("\\s+");
        return words.length == 1 ? new TermQuery(new Term("text", words[0])) : new PhraseQuery("text", words);
    }

    static Query query(String text) {
        BooleanQuery.Builder all = new BooleanQuery.Builder();
        Query last = null;
        int parts = 0;
        for (Matcher m = PART.matcher(text); m.find(); ++parts) {
            last = part(m.group(2) != null ? m.group(2) : m.group(3));
            all.add(last, m.group(1).equals("+") ? Occur.MUST : m.group(1).equals("-") ? Occur.MUST_NOT : Occur.SHOULD);
        }
        return parts == 1 ? last : all.build();
    }

    static int ask(IndexSearcher searcher, String mode, Query query) throws Exception {
        if (mode.equals("COUNT")) return searcher.count(query);
        int k = mode.equals("TOP_10") ? 10 : 100;
        boolean counts = mode.endsWith("COUNT");
        TopDocs found = searcher.search(query, TopScoreDocCollector.createSharedManager(k, null, counts ? Integer.MAX_VALUE : k));
        return counts ? (int) found.totalHits.value : 0;
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[1]);
        build(Path.of(arguments[0]), folder);
        List<String> lines = Files.readAllLines(Path.of(arguments[2]));
        int passes = Integer.parseInt(arguments[3]), size = lines.size();
        String[] modes = new String[size];
        Query[] queries = new Query[size];
        for (int i = 0; i < size; ++i) {
            String[] columns = lines.get(i).split("\t");
            modes[i] = columns[0];
            queries[i] = query(columns[1]);
        }
        try (Directory directory = new MMapDirectory(folder); DirectoryReader reader = DirectoryReader.open(directory)) {
            IndexSearcher searcher = new IndexSearcher(reader);
            searcher.setQueryCache(null);
            searcher.setSimilarity(new BM25Similarity(1.2f, 0.75f));
            double[][] seconds = new double[size][passes];
            double[] first = new double[size];
            int[] counts = new int[size];
            for (int pass = 0; pass <= passes; ++pass) {
                for (int i = 0; i < size; ++i) {
                    long begin = System.nanoTime();
                    int count = ask(searcher, modes[i], queries[i]);
                    double taken = (System.nanoTime() - begin) / 1e9;
                    if (pass == 0) {
                        first[i] = taken;
                        counts[i] = count;
                    } else {
                        seconds[i][pass - 1] = taken;
                    }
                }
            }
            List<Double> medians = new ArrayList<>();
            for (double[] one : seconds) {
                Arrays.sort(one);
                medians.add(one[one.length / 2]);
            }
            System.out.println("{\"seconds\":" + medians + ",\"first\":" + Arrays.toString(first) + ",\"counts\":" + Arrays.toString(counts)
                    + ",\"segments\":" + reader.leaves().size() + "}");
        }
    }
}
