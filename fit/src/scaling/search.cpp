#include "gpucast/fit/scaling/search.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gpucast/fit/parallel.h"

namespace gpucast::fit::scaling {

namespace {

using model::scaling::Form;

constexpr std::size_t beam = 20;
constexpr std::size_t most_terms = 6;  // the work included
constexpr int most_iterations = 50;

// Where all shares are alike, as in a weak-scaling series, growth beyond n cannot be told from any
// cost that grows with N.
bool tells_growth(const model::scaling::Extent& measured) {
  return measured.sizes > 1 && (measured.shares_differ || measured.counts == 1);
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
      for (std::size_t growth = 0; growth < growths_; ++growth)
        forms.push_back({{lead}, growth, 0});
    }
    try_all(forms);
    for (std::size_t level = 1; level <= most_terms; ++level) {
      forms.clear();
      for (const Form& form : best(beam))
        vary(form, forms);
      try_all(forms);
    }
    std::vector<Plausible> result;
    for (const Form& form : best(most)) {
      result.push_back({form, starts_.at(form), log_weights_.at(form)});
    }
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
        const bool asks = model::scaling::terms[term].info.place != model::scaling::Place::after &&
                          model::scaling::terms[term].info.place != model::scaling::Place::work;
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
    const bool of_shares = model::scaling::terms[term].info.place == model::scaling::Place::work;
    return !Priors::leads(term) && !has(term) && !(of_shares && has(Priors::whole_term));
  }

  void try_all(std::vector<Form> forms) {
    std::erase_if(forms, [&](const Form& form) {
      return !form.is_meaningful() || log_weights_.contains(form);
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

  std::vector<Form> best(std::size_t most) const {
    std::vector<std::pair<double, Form>> ranked;
    ranked.reserve(log_weights_.size());
    for (const auto& [form, weight] : log_weights_)
      ranked.emplace_back(-weight, form);
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
  double sum = growth.odds + (form.adds() ? 0.0 : overlap_odds);
  if (form.growth > 0 && growth.freedom == 0 && measured.sizes < 3) sum += odds_of_two_sizes;
  for (const std::size_t term : form.terms) {
    sum += model::scaling::terms[term].info.odds;
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
