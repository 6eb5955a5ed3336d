/**
 * The model of the conversation, how much of its window is full and what was spent: a line at the message field, with a panel
 * that chooses another model. A choice is the command `/model`, as on every platform. Loaded after the conversation.
 */
import { loadStyle } from '../dashboard/section.js'
import { h, setText } from '../dom.js'
import { createAttempts } from './attempts.js'

/** @typedef {import('../../protocol.ts').WireUsage} WireUsage */

/**
 * @param {object} options
 * @param {HTMLElement} options.place
 * @param {Pick<import('../api.js').Api, 'usage' | 'modelOffers' | 'modelsOf'>} options.api
 * @param {(command: string) => void} options.onCommand
 */
export async function createMeter({ place, api, onCommand }) {
  await loadStyle('meter')
  const level = h('span', { class: 'level', 'aria-hidden': 'true' }, h('i'))
  const text = h('span')
  const panel = h('section', { class: 'usage', popover: 'auto', id: 'usage', 'aria-label': 'Model and use' })
  const button = h('button', { class: 'small', type: 'button', popovertarget: 'usage' }, level, text)
  /** @type {WireUsage | undefined} */
  let usage

  place.replaceChildren(button, panel)
  panel.addEventListener('beforetoggle', ({ newState }) => newState === 'open' && void fill())
  panel.addEventListener('toggle', position)
  window.addEventListener('resize', position)

  return {
    /** @param {string} session */
    async show(session) {
      usage = await api.usage(session)
      const share = shareOf(usage)
      level.style.setProperty('--share', `${share}%`)
      level.toggleAttribute('data-full', share >= 80)
      setText(text, [`${share} %`, costOf(usage)].filter(Boolean).join(' · '))
      button.setAttribute('aria-label', `${text.textContent}: model and use of this conversation`)
      place.hidden = false
    },
  }

  function position() {
    const { top, right } = button.getBoundingClientRect()
    panel.style.bottom = `${innerHeight - top + 8}px`
    panel.style.right = `${Math.max(8, document.documentElement.clientWidth - right)}px`
  }

  async function fill() {
    const trouble = h('p', { class: 'trouble', role: 'alert', hidden: true })
    const attempt = createAttempts(trouble)
    const provider = h('select', { class: 'text', id: 'usage-provider' })
    const model = h('input', {
      class: 'text',
      id: 'usage-model',
      list: 'usage-models',
      autocomplete: 'off',
      spellcheck: 'false',
    })
    const models = h('datalist', { id: 'usage-models' })
    const use = h('button', { class: 'quiet main', type: 'submit' }, 'Use here')
    const reset = h('button', { class: 'quiet', type: 'button' }, 'Use the configured one')
    const compress = h('button', { class: 'quiet', type: 'button' }, 'Sum up what was said')
    const form = h(
      'form',
      {},
      h('label', { for: 'usage-provider' }, 'Provider'),
      provider,
      h('label', { for: 'usage-model' }, 'Model of this conversation'),
      model,
      models,
      h('div', { class: 'actions' }, use, reset),
    )
    panel.replaceChildren(h('dl', {}, ...factsOf(usage)), compress, form, trouble)
    compress.addEventListener('click', () => run('/compress'))
    reset.addEventListener('click', () => run('/model reset'))
    provider.addEventListener('change', () => void list())
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      if (model.value.trim() !== '') run(`/model ${provider.value}:${model.value.trim()}`)
    })
    await attempt(async () => {
      const { providers } = await api.modelOffers()
      const ready = providers.filter(({ is_ready, is_local }) => is_ready || is_local)
      provider.replaceChildren(...ready.map(({ name, label }) => h('option', { value: name }, label)))
      if (ready.some(({ name }) => name === usage?.provider)) provider.value = usage?.provider ?? ''
      model.value = usage?.model ?? ''
    }, 'The providers could not be loaded.')
    await list()

    async function list() {
      if (provider.value === '') return
      await attempt(async () => {
        const ids = await api.modelsOf({ provider: provider.value })
        models.replaceChildren(...ids.map((id) => h('option', { value: id })))
      }, 'The models could not be listed.')
    }
  }

  /** @param {string} command */
  function run(command) {
    panel.hidePopover()
    onCommand(command)
  }
}

/** @param {WireUsage} usage */
function shareOf({ context_tokens, context_length }) {
  return Math.min(100, Math.round(((context_tokens ?? 0) / Math.max(1, context_length)) * 100))
}

/** '' where no price is known. @param {WireUsage} usage */
function costOf({ cost }) {
  return cost === 0 ? '' : `$${cost.toFixed(cost < 1 ? 4 : 2)}`
}

/** @param {WireUsage | undefined} usage */
function factsOf(usage) {
  if (usage === undefined) return []
  const { context_tokens, context_length, cached_tokens, input_tokens, output_tokens, model, provider } = usage
  const tokens = (/** @type {number} */ count) => count.toLocaleString()
  const cost = costOf(usage)
  /** @type {[string, string][]} */
  const rows = [
    ['Model', provider === '' ? model : `${model} (${provider})`],
    ['Context', `${tokens(context_tokens ?? 0)} of ${tokens(context_length)} tokens`],
    ['From the cache', `${tokens(cached_tokens)} of the latest request`],
    ['Tokens', `${tokens(input_tokens)} read, ${tokens(output_tokens)} written`],
    [
      'Cost',
      cost === ''
        ? 'Not known'
        : `${cost}${usage.unpriced_tokens > 0 ? ', without tokens whose price is not known' : ''}`,
    ],
  ]
  return rows.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])
}
