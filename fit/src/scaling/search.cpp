#include "gpucast/fit/scaling/search.h"

#include <cmath>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "gpucast/fit/parallel.h"

namespace gpucast::fit::scaling {

namespace {

using model::scaling::Form;

constexpr std::size_t beam = 20;
constexpr std::size_t most_terms = 6;    // with the work
constexpr double least_log_weight = -6;  // relative to the best form

// This number of forms whose GPUs may not be full is varied (open_laws), whatever their rank: terms
// without information in the cells make many forms of one law.
constexpr std::size_t most_opened = 12;

// If all shares are equal, as in a weak-scaling series, growth beyond n cannot be distinguished
// from a time that grows with N.
std::size_t growths_told(const model::scaling::Extent& measured) {
  const bool told = measured.sizes > 1 && (measured.shares_differ || measured.counts == 1);
  return told ? model::scaling::growths.size() : 1;
}

// No GPU does this number of operations a second, and a unit of work is at least one operation.
constexpr double fastest = 1e17;

// Whether the GPUs can have done a form's work in the measured times.
bool is_possible(const Form& form, const Cells& cells) {
  if (form.growth == 0 || form.is_free()) return true;
  const auto lead = std::ranges::find_if(form.terms, Priors::leads);
  const auto units = model::scaling::terms[*lead].shape;
  for (Eigen::Index i = 0; i < cells.size(); ++i)
    if (units(cells.scale(i, form.growth)) > fastest * std::exp(cells.log_seconds[i])) return false;
  return true;
}

constexpr std::size_t sharply = model::scaling::overlap_named("filled sharply").value();

bool is_filling(std::size_t term) {
  return model::scaling::terms[term].place == model::scaling::Place::filling;
}

// The plausible ones of several forms or, if there are more than `most`, a sample of them: each law
// is represented in proportion to its weight (systematic resampling).
std::vector<Plausible> resampled(std::vector<Plausible> forms, std::size_t most) {
  const double best = std::ranges::max(forms, {}, &Plausible::log_weight).log_weight;
  std::erase_if(forms, [&](const Plausible& candidate) {
    return candidate.log_weight < best + least_log_weight;
  });
  std::ranges::sort(forms, {}, [](const Plausible& candidate) {
    return std::tuple(candidate.form.growth, candidate.form.overlap, candidate.form.terms);
  });
  if (forms.size() <= most) return forms;
  double sum = 0;
  for (const Plausible& candidate : forms)
    sum += std::exp(candidate.log_weight - best);
  const double share = sum / static_cast<double>(most);
  std::vector<Plausible> kept;
  double passed = 0;
  double next = share / 2;
  for (Plausible& candidate : forms) {
    passed += std::exp(candidate.log_weight - best);
    int times = 0;
    while (next < passed) {
      ++times;
      next += share;
    }
    if (times == 0) continue;
    candidate.log_stands_for = std::log(times * share) + best - candidate.log_weight;
    kept.push_back(std::move(candidate));
  }
  return kept;
}

class Search {
 public:
  Search(const Cells& cells, const Process& process, Tried& tried, unsigned threads)
      : cells_(cells),
        process_(process),
        before_(std::exchange(tried, {})),
        tried_(tried),
        threads_(threads),
        growths_(growths_told(cells.extent())) {
    const auto extent = cells.extent();
    for (std::size_t term = 0; term < model::scaling::terms.size(); ++term)
      if (model::scaling::terms[term].offered(extent)) offered_.push_back(term);
  }

  std::vector<Plausible> run(std::size_t most) {
    std::vector<Form> forms;
    for (const std::size_t lead : offered_) {
      if (!Priors::leads(lead)) continue;
      for (std::size_t growth = 0; growth < growths_; ++growth) {
        forms.push_back({{lead}, growth, 0});
        for (const std::size_t term : offered_) {
          if (!is_filling(term)) continue;
          forms.push_back({{std::min(lead, term), std::max(lead, term)}, growth, sharply});
        }
      }
    }
    try_all(forms);
    for (std::size_t level = 1; level <= most_terms; ++level) {
      forms.clear();
      for (const bool fills : {false, true})
        for (const Plausible& plausible : best(fills ? most_opened : beam, fills))
          vary(plausible.form, forms);
      try_all(forms);
    }
    std::vector<Plausible> result = best(most, false);
    std::ranges::move(best(most_opened, true), std::back_inserter(result));
    keep_best(result, result.size());
    return result;
  }

 private:
  void vary(const Form& form, std::vector<Form>& into) const {
    const auto with_every_overlap = [&](Form varied) {
      for (std::size_t overlap = 0; overlap < model::scaling::overlaps.size(); ++overlap) {
        varied.overlap = overlap;
        into.push_back(varied);
      }
    };
    if (form.terms.size() < most_terms) {
      for (const std::size_t term : offered_) {
        if (!joins(term, form)) continue;
        Form varied = form;
        varied.terms.insert(std::ranges::upper_bound(varied.terms, term), term);
        // The overlap is chosen again if it involves the term.
        const bool asks = model::scaling::terms[term].place != model::scaling::Place::after &&
                          model::scaling::terms[term].place != model::scaling::Place::work;
        if (asks)
          with_every_overlap(std::move(varied));
        else
          into.push_back(std::move(varied));
      }
    }
    with_every_overlap(form);
    for (std::size_t growth = 0; growth < growths_; ++growth) {
      Form varied = form;
      varied.growth = growth;
      into.push_back(std::move(varied));
    }
  }

  // A form contains the work once; if every GPU does all of it, it has no shares.
  static bool joins(std::size_t term, const Form& form) {
    const auto has = [&](std::size_t other) {
      return std::ranges::find(form.terms, other) != form.terms.end();
    };
    if (is_filling(term) && form.fills()) return false;
    const bool of_shares = model::scaling::terms[term].place == model::scaling::Place::work;
    return !Priors::leads(term) && !has(term) && !(of_shares && has(Priors::whole_term));
  }

  void try_all(std::vector<Form> forms) {
    std::erase_if(forms, [&](const Form& form) {
      return !form.is_meaningful() || !is_possible(form, cells_) || tried_.contains(form);
    });
    std::ranges::sort(forms);
    const auto repeated = std::ranges::unique(forms);
    forms.erase(repeated.begin(), repeated.end());
    std::vector<Plausible> fresh;
    for (const Form& form : forms) {
      const auto known = before_.find(form);
      fresh.push_back(
          {form, known == before_.end() ? Eigen::VectorXd{} : known->second.parameters});
    }
    weigh(fresh, cells_, process_, threads_);
    for (Plausible& candidate : fresh)
      tried_.emplace(candidate.form, candidate);
  }

  // The most plausible forms whose GPUs are full, or may not be.
  std::vector<Plausible> best(std::size_t most, bool fills) const {
    // Equally plausible forms keep the order of their map.
    std::vector<std::tuple<double, std::size_t, const Plausible*>> ranked;
    for (const auto& [form, one] : tried_)
      if (form.fills() == fills) ranked.emplace_back(-one.log_weight, ranked.size(), &one);
    std::ranges::sort(ranked);
    std::vector<Plausible> forms;
    for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i)
      forms.push_back(*std::get<2>(ranked[i]));
    return forms;
  }

  const Cells& cells_;
  const Process& process_;
  Tried before_;
  Tried& tried_;
  unsigned threads_;
  std::size_t growths_;
  std::vector<std::size_t> offered_;
};

}  // namespace

double log_odds(const Form& form, const model::scaling::Extent& measured) {
  const auto& growth = model::scaling::growths[form.growth];
  double sum = growth.odds + model::scaling::overlaps[form.overlap].odds;
  if (form.growth > 0 && measured.sizes < 3) {
    if (growth.freedom == 0) sum += priors.odds_of_two_sizes;
  } else if (form.growth > 0 && form.fills()) {
    sum += growth.odds_beyond - growth.odds;
  }
  for (const std::size_t term : form.terms) {
    sum += model::scaling::terms[term].odds;
    if (term == Priors::ring_term && measured.largest_gpus <= priors.few_gpus)
      sum += priors.ring_odds_few_gpus;
    if (term == Priors::collective_term && measured.bytes_known) sum += priors.odds_of_stated_bytes;
    if (term == Priors::host_term) {
      sum += priors.host_odds_by_gpus * std::max(0.0, std::log(measured.largest_gpus / 8));
      if (static_cast<double>(measured.sizes) < priors.few_sizes) sum += priors.host_odds_few_sizes;
      if (static_cast<double>(measured.sizes_of_a_count) >= priors.many_sizes)
        sum += priors.host_odds_many_sizes;
    }
  }
  return sum;
}

void weigh(std::vector<Plausible>& forms, const Cells& cells, const Process& process,
           unsigned threads) {
  const auto extent = cells.extent();
  parallel_for(forms.size(), threads, 4, [&](std::size_t i) {
    Plausible& candidate = forms[i];
    FormFit fit = fit_form(candidate.form, cells, process, candidate.parameters);
    candidate.log_weight = fit.log_evidence + log_odds(candidate.form, extent);
    candidate.parameters = std::move(fit.parameters);
  });
}

void keep_best(std::vector<Plausible>& forms, std::size_t most) {
  std::ranges::sort(forms, [](const Plausible& a, const Plausible& b) {
    return a.log_weight > b.log_weight || (a.log_weight == b.log_weight && a.form < b.form);
  });
  if (forms.size() > most) forms.resize(most);
}

std::vector<Plausible> search_forms(const Cells& cells, const Process& process, Tried& tried,
                                    std::size_t most, unsigned threads) {
  return Search(cells, process, tried, threads).run(most);
}

std::vector<Plausible> open_laws(const std::vector<Plausible>& forms, const Cells& cells,
                                 const Process& process, std::size_t most, unsigned threads) {
  const auto extent = cells.extent();
  std::set<std::vector<std::size_t>> bases;
  for (const Plausible& plausible : forms) {
    if (!plausible.form.fills() || bases.size() >= 2 * most_opened) continue;
    // A minimum time of any kind: these are adjacent in the catalogue.
    std::vector<std::size_t> base = plausible.form.terms;
    const auto least = std::ranges::find_if(base, is_filling);
    for (std::size_t term = 0; term < model::scaling::terms.size(); ++term) {
      if (!is_filling(term) || !model::scaling::terms[term].offered(extent)) continue;
      *least = term;
      bases.insert(base);
    }
  }
  std::vector<Plausible> opened;
  for (const auto& terms : bases) {
    for (std::size_t growth = 0; growth < growths_told(extent); ++growth) {
      for (std::size_t overlap = 0; overlap < model::scaling::overlaps.size(); ++overlap) {
        const Form form{terms, growth, overlap};
        if (model::scaling::overlaps[overlap].exchange || !form.is_meaningful()) continue;
        if (!is_possible(form, cells)) continue;
        const bool known = std::ranges::find(forms, form, &Plausible::form) != forms.end();
        if (!known) opened.push_back({form});
      }
    }
  }
  weigh(opened, cells, process, threads);
  opened.insert(opened.begin(), forms.begin(), forms.end());
  return resampled(std::move(opened), most);
}

}  // namespace gpucast::fit::scaling
