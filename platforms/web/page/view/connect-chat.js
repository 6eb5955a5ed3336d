/**
 * The dialog that connects a chat: a platform is chosen, what it needs is entered, tried and stored, and the person who writes to
 * the bot first can be made the owner. Every step can be left and repeated. Loaded when it is opened.
 */
import { createField, openDialog } from '../dashboard/dialogs.js'
import { createButton, loadStyle } from '../dashboard/section.js'
import { h, setText } from '../dom.js'
import { createAttempts } from './attempts.js'
import { stateOf } from './connect-steps.js'
import { showFirstMessage } from './first-message.js'

/** @typedef {import('./connect-steps.js').Steps} Steps */
/** @typedef {import('../../protocol.ts').WirePlatform} WirePlatform */
/** @typedef {import('../../protocol.ts').WirePlatformForm} WirePlatformForm */
/** @typedef {import('../../protocol.ts').WireTriedPlatform} WireTriedPlatform */

/** @param {Steps['api']} api */
export async function openConnectChat(api) {
  await Promise.all([loadStyle('dashboard'), loadStyle('connect-chat')])
  const { dialog, form } = openDialog('Connect a chat', () => shown.abort())
  const title = form.querySelector('h2')
  const step = h('div', { class: 'step' })
  const trouble = h('p', { class: 'trouble', role: 'alert', hidden: true })
  const actions = h('div', { class: 'actions ends' })
  let shown = new AbortController()
  /** @type {(() => void) | undefined} */
  let submit
  form.append(step, trouble, actions)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    submit?.()
  })
  await showPlatforms({ api, form, attempt: createAttempts(trouble), show, close: () => dialog.close() })

  /** @type {Steps['show']} */
  function show(heading, content, buttons, onSubmit) {
    shown.abort()
    shown = new AbortController()
    submit = onSubmit
    trouble.hidden = true
    if (title !== null) setText(title, heading)
    step.replaceChildren(...content)
    actions.replaceChildren(...buttons)
    const first = step.querySelector('input, button') ?? buttons.at(-1)
    if (first instanceof HTMLElement) first.focus()
    return shown.signal
  }
}

/** @param {Steps} steps */
async function showPlatforms(steps) {
  const { api, attempt, show, close } = steps
  show('Connect a chat', [h('p', {}, 'Loading')], [createButton('Close', close)])
  await attempt(async () => {
    /** @type {{ platforms: readonly WirePlatform[] }} */
    const { platforms } = await api.request('/api/setup/platforms')
    const rows = platforms.map((platform) => {
      const button = createButton(platform.label, () => openPlatform(steps, platform.name))
      button.append(h('span', { class: 'fine' }, stateOf(platform)))
      return h('li', {}, button)
    })
    const text =
      rows.length === 0
        ? 'No platform is installed that a bot can be connected on.'
        : 'Talk with Hermes where you write anyway. You need a bot of your own.'
    show('Connect a chat', [h('p', {}, text), h('ul', { class: 'offers' }, ...rows)], [createButton('Close', close)])
  }, 'The platforms could not be loaded.')
}

/** @param {Steps} steps @param {string} name */
function openPlatform(steps, name) {
  return steps.attempt(async () => {
    showForm(steps, await steps.api.request(`/api/setup/platforms/${name}`))
  }, 'The platform could not be loaded.')
}

/** @param {Steps} steps @param {WirePlatformForm} platform */
function showForm(steps, platform) {
  const { api, form, attempt } = steps
  const { name, label, fields, is_set: isSet } = platform
  const checks = h('ul', { class: 'checks', role: 'status' })
  const tryButton = h('button', { class: 'quiet main', type: 'submit' }, isSet ? 'Check it' : 'Try it')
  const useButton = createButton('Connect', () => connect(), { isMain: true })
  /** @type {WireTriedPlatform | undefined} */
  let tried
  const first = h('ol', { class: 'first', hidden: platform.steps.length === 0 }, ...platform.steps.map(createStep))
  const entries = h('div', {}, ...fields.map(createEntry))
  const buttons = [createButton('Back', () => showPlatforms(steps)), tryButton, useButton]
  useButton.hidden = true
  entries.addEventListener('input', () => showChecks(undefined))
  steps.show(`Connect ${label}`, [first, entries, checks], buttons, () => void tryIt())

  function values() {
    const entered = [...new FormData(form)].map(([key, value]) => [key, String(value).trim()])
    return Object.fromEntries(entered.filter(([, value]) => value !== ''))
  }

  async function tryIt() {
    tryButton.disabled = true
    setText(checks, `Asking ${label}`)
    const body = { values: values() }
    const done = await attempt(
      async () => showChecks(await api.request(`/api/setup/platforms/${name}/try`, { body })),
      `${label} could not be asked.`,
    )
    tryButton.disabled = false
    if (!done) showChecks(undefined)
    else (useButton.hidden ? tryButton : useButton).focus()
  }

  /** @param {WireTriedPlatform | undefined} result undefined: something else was entered */
  function showChecks(result) {
    tried = result
    checks.replaceChildren(...(result?.checks ?? []).map(createCheck))
    const isGood = result?.checks.every(({ state }) => state !== 'problem') === true
    useButton.hidden = !isGood
    tryButton.hidden = isGood
  }

  async function connect() {
    useButton.disabled = true
    const body = { values: values() }
    const done = await attempt(async () => {
      if (Object.keys(body.values).length > 0) await api.request(`/api/setup/platforms/${name}/connect`, { body })
    }, 'It could not be stored.')
    useButton.disabled = false
    if (done) showFirstMessage(steps, platform, tried?.invitation, () => openPlatform(steps, name))
  }
}

/** @param {WirePlatformForm['fields'][number]} field */
function createEntry({ key, label, secret, is_set: isSet, description }) {
  return createField({
    name: key,
    label,
    type: secret ? 'password' : 'text',
    hint: description,
    ...(isSet ? { placeholder: 'stored; leave it empty to keep it' } : { isRequired: true }),
  })
}

/** @param {WirePlatformForm['steps'][number]} step */
function createStep({ text, url }) {
  const link =
    url === undefined ? [] : [' ', h('a', { href: url, target: '_blank', rel: 'noreferrer' }, 'Open the page')]
  return h('li', {}, text, ...link)
}

/** @param {WireTriedPlatform['checks'][number]} check */
function createCheck({ state, text, advice, link }) {
  const next = advice === undefined || state === 'ok' ? [] : [h('span', {}, advice)]
  const page = link === undefined ? [] : [h('a', { href: link, target: '_blank', rel: 'noreferrer' }, 'Open the page')]
  return h('li', { 'data-state': state }, h('b', {}, text), ...next, ...page)
}
