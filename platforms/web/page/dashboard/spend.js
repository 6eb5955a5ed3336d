/**
 * What the models cost: tokens and money by day, for each model, platform or person, and the budgets.
 */

import { h, setText } from '../dom.js'
import uPlot from '../uplot.js'
import { createField } from './dialogs.js'
import { createCounter, createList, pageOf } from './list.js'
import { createSection, loadStyle } from './section.js'

/** @typedef {import('./views.js').ViewContext} ViewContext */

const periods = ['7', '30', '90', '365']

/** @param {ViewContext} context */
export async function show(context) {
  const { root, api, params, setParams, signal, onChange } = context
  await loadStyle('uplot')
  const form = h(
    'form',
    { class: 'filters', 'aria-label': 'What is shown' },
    createField({
      name: 'by',
      label: 'By',
      type: 'select',
      value: params.get('by') ?? 'model',
      options: ['model', 'platform', 'person'],
    }),
    createField({
      name: 'days',
      label: 'Days',
      type: 'select',
      value: params.get('days') ?? '30',
      options: periods,
    }),
    createField({
      name: 'unit',
      label: 'In',
      type: 'select',
      value: params.get('unit') ?? '',
      options: [{ value: '', label: 'money, if a price is known' }, 'money', 'tokens'],
    }),
  )
  const sum = h('p', { class: 'spend-sum' })
  const chart = h('div', { class: 'chart', role: 'img', hidden: true })
  const section = createSection('Amounts')
  /** @type {any} */
  let spend
  const list = createList({
    label: 'Amounts',
    load: pageOf(async () => {
      const values = new FormData(form)
      spend = await api.request(`/api/spend?by=${values.get('by')}&days=${values.get('days')}`)
      return spend.entries
    }),
    row: (entry) => ({
      key: entry.name,
      name: entry.name,
      facts: [money(entry.cost), `${tokens(entry.input_tokens)} read`, `${tokens(entry.output_tokens)} written`],
    }),
    empty: 'Nothing yet. What a model has used appears here after its first answer.',
    ...context,
    onCount: createCounter(section),
  })
  const budgets = createList({
    label: 'Budgets',
    load: pageOf(() => readBudgets(api)),
    row: ({ about, limit, action }) => ({ key: `${about} ${limit} ${action}`, name: about, facts: [limit, action] }),
    empty:
      'None. The plugin cost-budget warns, blocks or takes a cheaper model when an amount is used up; people see what they have left with /budget.',
    ...context,
  })
  section.append(list.element)
  root.append(form, sum, chart, section, createSection('Budgets', budgets.element))
  form.addEventListener('submit', (event) => event.preventDefault())
  form.addEventListener('change', () => {
    setParams(Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)])))
    void refresh()
  })
  const plot = createPlot(chart, signal)
  onChange(['inbox'], () => void refresh())
  onChange(['config'], budgets.refresh)
  await Promise.all([refresh(), budgets.refresh()])

  async function refresh() {
    await list.refresh()
    if (spend === undefined || signal.aborted) return
    const { total } = spend
    setText(sum, `${money(total.cost)}, ${tokens(total.input_tokens)} read and ${tokens(total.output_tokens)} written`)
    const unit = new FormData(form).get('unit') || (total.cost > 0 ? 'money' : 'tokens')
    plot.draw(spend, unit === 'money')
  }
}

/** The settings of the plugin. @param {ViewContext['api']} api @returns {Promise<{ about: string, limit: string, action: string }[]>} */
async function readBudgets(api) {
  const { values } = await api.request('/api/settings')
  const path = 'plugins,entries,cost-budget'
  const found = values.find(
    (/** @type {{ path: string[] }} */ entry) =>
      String(entry.path) === path || String(entry.path) === `${path},budgets`,
  )
  const budgets = found?.value?.settings?.budgets ?? found?.value?.budgets ?? found?.value
  if (!Array.isArray(budgets)) return []
  return budgets.map(({ per, period, amount, tokens: limit, action }) => ({
    about: `${per === 'global' ? 'Everything' : `Each ${per}`}${period ? ` a ${period}` : ''}`,
    limit: amount === undefined ? `${tokens(limit)}` : money(amount),
    action:
      action === 'block' ? 'then refuses' : action === 'route_down' ? 'then takes the cheaper model' : 'then warns',
  }))
}

/** Stacked lines of the largest entries, in the accent and greys. @param {HTMLElement} chart @param {AbortSignal} signal */
function createPlot(chart, signal) {
  /** @type {InstanceType<typeof uPlot> | undefined} */
  let plot
  const observer = new ResizeObserver(() => plot?.setSize({ width: chart.clientWidth, height: plot.height }))
  observer.observe(chart)
  signal.addEventListener('abort', () => {
    observer.disconnect()
    plot?.destroy()
  })
  return {
    /** @param {any} spend @param {boolean} isMoney */
    draw({ days, entries }, isMoney) {
      plot?.destroy()
      chart.hidden = entries.length === 0
      if (chart.hidden) return
      const style = getComputedStyle(chart)
      const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim()
      const colours = ['--live', '--good', '--line-focus', '--ink-soft', '--line-strong'].map(colour)
      const shown = entries.slice(0, colours.length)
      /** @param {number[][]} all */
      const sumOf = (all) =>
        days.map((/** @type {string} */ _, /** @type {number} */ index) =>
          all.reduce((sum, each) => sum + (each[index] ?? 0), 0),
        )
      const amounts = (/** @type {any} */ entry) => (isMoney ? entry.cost_by_day : entry.tokens_by_day)
      const axis = {
        stroke: colour('--ink-faint'),
        grid: { stroke: colour('--line'), width: 1 },
        ticks: { show: false },
        font: '12px system-ui',
      }
      const format = (/** @type {number} */ value) => (isMoney ? money(value) : tokens(value))
      chart.setAttribute(
        'aria-label',
        `${isMoney ? 'Money' : 'Tokens'} by day, the last one ${days.at(-1)}. The largest: ${shown.map((/** @type {{ name: string }} */ { name }) => name).join(', ')}`,
      )
      plot = new uPlot(
        {
          width: chart.clientWidth,
          height: 240,
          scales: { x: { time: true } },
          cursor: { y: false },
          axes: [axis, { ...axis, size: 64, values: (_, ticks) => ticks.map(format) }],
          series: [
            { value: (_, at) => (at === null ? '' : new Date(at * 1000).toLocaleDateString()) },
            ...shown.map((/** @type {{ name: string }} */ { name }, /** @type {number} */ index) => ({
              label: name,
              stroke: colours[index] ?? '',
              width: 2,
              points: { show: days.length < 10 },
              value: (/** @type {unknown} */ _, /** @type {number | null} */ value) =>
                value === null ? '' : format(value),
            })),
            ...(entries.length > shown.length
              ? [
                  {
                    label: 'others',
                    stroke: colour('--line-strong'),
                    width: 1,
                    dash: [4, 4],
                    value: (/** @type {unknown} */ _, /** @type {number | null} */ value) =>
                      value === null ? '' : format(value),
                  },
                ]
              : []),
          ],
        },
        [
          days.map((/** @type {string} */ day) => Date.parse(`${day}T00:00`) / 1000),
          ...shown.map(amounts),
          ...(entries.length > shown.length ? [sumOf(entries.slice(shown.length).map(amounts))] : []),
        ],
        chart,
      )
    },
  }
}

/** @param {number} amount */
function money(amount) {
  return amount === 0 ? '$0' : amount < 0.01 ? `$${amount.toPrecision(2)}` : `$${amount.toFixed(2)}`
}

const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })

/** @param {number} count */
function tokens(count) {
  return `${compact.format(count)} tokens`
}
