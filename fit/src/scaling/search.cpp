#include "gpucast/fit/scaling/search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "gpucast/fit/parallel.h"

namespace gpucast::fit::scaling {

namespace {

using model::scaling::Form;

constexpr std::size_t beam = 20;
constexpr std::size_t most_terms = 6;  // the work included
constexpr int most_iterations = 50;
constexpr double least_log_weight = -6;  // relative to the best form

// So many forms of GPUs that may not be full lead to others (open_laws), however many are ahead of
// them: terms of which the cells say nothing make many forms of one law.
constexpr std::size_t most_opened = 12;

// Where all shares are alike, as in a weak-scaling series, growth beyond n cannot be told from any
// cost that grows with N.
bool tells_growth(const model::scaling::Extent& measured) {
  return measured.sizes > 1 && (measured.shares_differ || measured.counts == 1);
}

// No GPU does so many operations a second, and a unit of work is one operation at least.
constexpr double fastest = 1e17;

// Whether the GPUs can have done the work of a form in the times measured.
bool is_possible(const Form& form, const Cells& cells) {
  if (form.growth == 0 || form.is_free()) return true;
  const auto lead = std::ranges::find_if(form.terms, Priors::leads);
  const auto units = model::scaling::terms[*lead].shape;
  for (Eigen::Index i = 0; i < cells.size(); ++i) {
    if (units(cells.scale(i, form.growth)) > fastest * std::exp(cells.log_seconds[i])) return false;
  }
  return true;
}

constexpr std::size_t sharply = model::scaling::overlap_named("filled sharply").value();

bool is_filling(std::size_t term) {
  return model::scaling::terms[term].place == model::scaling::Place::filling;
}

// The plausible ones of some forms, or where they are more than `most` some that stand for all:
// as many of each law as its weight says (systematic resampling).
std::vector<Plausible> resampled(std::vector<Plausible> forms, std::size_t most) {
  double best = -std::numeric_limits<double>::infinity();
  for (const Plausible& each : forms)
    best = std::max(best, each.log_weight);
  std::erase_if(forms,
                [&](const Plausible& each) { return each.log_weight < best + least_log_weight; });
  std::ranges::sort(forms, {}, [](const Plausible& each) {
    return std::tuple(each.form.growth, each.form.overlap, each.form.terms);
  });
  if (forms.size() <= most) return forms;
  double sum = 0;
  for (const Plausible& each : forms)
    sum += std::exp(each.log_weight - best);
  const double share = sum / static_cast<double>(most);
  std::vector<Plausible> kept;
  double passed = 0;
  double next = share / 2;
  for (Plausible& each : forms) {
    passed += std::exp(each.log_weight - best);
    int times = 0;
    while (next < passed) {
      ++times;
      next += share;
    }
    if (times == 0) continue;
    each.log_stands_for = std::log(times * share) + best - each.log_weight;
    kept.push_back(std::move(each));
  }
  return kept;
}

class Search {
 public:
  Search(const Cells& cells, const Process& process, const Priors& priors, Starts& starts,
         unsigned threads)
      : cells_(cells),
        process_(process),
        priors_(priors),
        starts_(starts),
        threads_(threads),
        extent_(cells.extent()),
        growths_(tells_growth(extent_) ? model::scaling::growths.size() : 1) {
    for (std::size_t term = 0; term < model::scaling::terms.size(); ++term) {
      if (model::scaling::terms[term].offered(extent_)) offered_.push_back(term);
    }
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
      for (const bool fills : {false, true}) {
        for (const Form& form : best(fills ? most_opened : beam, fills))
          vary(form, forms);
      }
      try_all(forms);
    }
    std::vector<Plausible> result;
    for (const bool fills : {false, true}) {
      for (const Form& form : best(fills ? most_opened : most, fills))
        result.push_back({form, starts_.at(form), log_weights_.at(form)});
    }
    std::ranges::sort(result, std::greater(), &Plausible::log_weight);
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
        // What overlaps is asked anew where the term is part of it.
        const bool asks = model::scaling::terms[term].place != model::scaling::Place::after &&
                          model::scaling::terms[term].place != model::scaling::Place::work;
        if (asks) {
          with_every_overlap(std::move(varied));
        } else {
          into.push_back(std::move(varied));
        }
      }
    }
    with_every_overlap(form);
    for (std::size_t growth = 0; growth < growths_; ++growth) {
      Form varied = form;
      varied.growth = growth;
      into.push_back(std::move(varied));
    }
  }

  // A form has the work once; where every GPU does all of it, there are no shares of it either.
  static bool joins(std::size_t term, const Form& form) {
    const auto has = [&](std::size_t each) {
      return std::ranges::find(form.terms, each) != form.terms.end();
    };
    if (is_filling(term) && form.fills()) return false;
    const bool of_shares = model::scaling::terms[term].place == model::scaling::Place::work;
    return !Priors::leads(term) && !has(term) && !(of_shares && has(Priors::whole_term));
  }

  void try_all(std::vector<Form> forms) {
    std::erase_if(forms, [&](const Form& form) {
      return !form.is_meaningful() || !is_possible(form, cells_) || log_weights_.contains(form);
    });
    std::ranges::sort(forms);
    const auto repeated = std::ranges::unique(forms);
    forms.erase(repeated.begin(), repeated.end());
    std::vector<FormFit> fits(forms.size());
    parallel_for(forms.size(), threads_, 8, [&](std::size_t i) {
      const auto known = starts_.find(forms[i]);
      fits[i] =
          fit_form(forms[i], shapes(forms[i], cells_, cells_.largest_size()), cells_, process_,
                   priors_, known == starts_.end() ? nullptr : &known->second, most_iterations);
    });
    for (std::size_t i = 0; i < forms.size(); ++i) {
      log_weights_[forms[i]] = fits[i].log_evidence + priors_.odds(forms[i], extent_);
      starts_[forms[i]] = fits[i].parameters;
    }
  }

  // The most plausible forms of GPUs that are full, or of such that may not be.
  std::vector<Form> best(std::size_t most, bool fills) const {
    std::vector<std::pair<double, Form>> ranked;
    ranked.reserve(log_weights_.size());
    for (const auto& [form, weight] : log_weights_) {
      if (form.fills() == fills) ranked.emplace_back(-weight, form);
    }
    std::ranges::sort(ranked);
    std::vector<Form> forms;
    for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) {
      forms.push_back(ranked[i].second);
    }
    return forms;
  }

  const Cells& cells_;
  const Process& process_;
  const Priors& priors_;
  Starts& starts_;
  unsigned threads_;
  model::scaling::Extent extent_;
  std::size_t growths_;
  std::vector<std::size_t> offered_;
  std::map<Form, double> log_weights_;
};

}  // namespace

double Priors::odds(const model::scaling::Form& form,
                    const model::scaling::Extent& measured) const {
  const auto& growth = model::scaling::growths[form.growth];
  double sum = growth.odds + model::scaling::overlaps[form.overlap].odds;
  if (form.growth > 0 && measured.sizes < 3) {
    if (growth.freedom == 0) sum += odds_of_two_sizes;
  } else if (form.growth > 0 && form.fills()) {
    sum += growth.odds_beyond - growth.odds;
  }
  for (const std::size_t term : form.terms) {
    sum += model::scaling::terms[term].odds;
    if (term == ring_term && measured.largest_gpus <= few_gpus) sum += ring_odds_few_gpus;
    if (term == host_term) {
      sum += host_odds_by_gpus * std::max(0.0, std::log(measured.largest_gpus / 8));
      if (static_cast<double>(measured.sizes) < few_sizes) sum += host_odds_few_sizes;
      if (static_cast<double>(measured.sizes_of_a_count) >= many_sizes) sum += host_odds_many_sizes;
    }
  }
  return sum;
}

std::vector<Plausible> search_forms(const Cells& cells, const Process& process,
                                    const Priors& priors, Starts& starts, std::size_t most,
                                    unsigned threads) {
  return Search(cells, process, priors, starts, threads).run(most);
}

std::vector<Plausible> open_laws(const std::vector<Plausible>& forms, const Cells& cells,
                                 const Process& process, const Priors& priors, std::size_t most,
                                 unsigned threads) {
  const auto extent = cells.extent();
  std::set<std::vector<std::size_t>> bases;
  for (const Plausible& each : forms) {
    if (!each.form.fills() || bases.size() >= 2 * most_opened) continue;
    // A least time of any kind: they stand next to one another in the catalogue.
    std::vector<std::size_t> base = each.form.terms;
    const auto least = std::ranges::find_if(base, is_filling);
    for (std::size_t term = 0; term < model::scaling::terms.size(); ++term) {
      if (!is_filling(term) || !model::scaling::terms[term].offered(extent)) continue;
      *least = term;
      bases.insert(base);
    }
  }
  std::vector<Plausible> all = forms;
  const std::size_t growths = tells_growth(extent) ? model::scaling::growths.size() : 1;
  for (const auto& terms : bases) {
    for (std::size_t growth = 0; growth < growths; ++growth) {
      for (std::size_t overlap = 0; overlap < model::scaling::overlaps.size(); ++overlap) {
        const Form form{terms, growth, overlap};
        if (model::scaling::overlaps[overlap].exchange || !form.is_meaningful()) continue;
        if (!is_possible(form, cells)) continue;
        const bool known = std::ranges::find(forms, form, &Plausible::form) != forms.end();
        if (!known) all.push_back({form, {}});
      }
    }
  }
  parallel_for(all.size() - forms.size(), threads, 8, [&](std::size_t i) {
    Plausible& each = all[forms.size() + i];
    FormFit fit = fit_form(each.form, shapes(each.form, cells, cells.largest_size()), cells,
                           process, priors, nullptr, most_iterations);
    each.log_weight = fit.log_evidence + priors.odds(each.form, extent);
    each.parameters = std::move(fit.parameters);
  });
  return resampled(std::move(all), most);
}

std::vector<Plausible> rank_forms(const std::vector<Plausible>& forms, const Cells& cells,
                                  const Process& process, const Priors& priors, std::size_t most,
                                  unsigned threads) {
  const auto extent = cells.extent();
  std::vector<Plausible> ranked = forms;
  parallel_for(ranked.size(), threads, 4, [&](std::size_t i) {
    Plausible& each = ranked[i];
    FormFit fit = fit_form(each.form, shapes(each.form, cells, cells.largest_size()), cells,
                           process, priors, &each.parameters, most_iterations);
    each.log_weight = fit.log_evidence + priors.odds(each.form, extent);
    each.parameters = std::move(fit.parameters);
  });
  std::ranges::sort(ranked, [](const Plausible& a, const Plausible& b) {
    return a.log_weight > b.log_weight || (a.log_weight == b.log_weight && a.form < b.form);
  });
  if (ranked.size() > most) ranked.resize(most);
  return ranked;
}

}  // namespace gpucast::fit::scaling
