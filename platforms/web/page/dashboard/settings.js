/**
 * The settings: a form of config.yaml, and the variables of `.env`. Changes are collected, shown as a difference, and saved together.
 */
import { addressOfView } from '../address.js'
import { h, setText } from '../dom.js'
import { confirm, createField, showForm } from './dialogs.js'
import { createButton, loadStyle } from './section.js'
import { listSettings, matchesSetting, nameOf, settingsOfEntry } from './settings-fields.js'
import { reviewChanges } from './settings-review.js'
import { createRow } from './settings-row.js'
import { createVariables } from './settings-variables.js'

/** @typedef {import('./settings-fields.js').Setting} Setting */
/** @typedef {import('./settings-row.js').Change} Change */

/** What is not saved yet stays while other views are open. @type {Map<string, Change>} */
const pending = new Map()
const maxMatches = 40

/** It changes with a restart only. @type {Promise<any> | undefined} */
let loadedSchema

/** @param {import('../api.js').Api} api */
function loadSchema(api) {
  loadedSchema ??= api.request('/api/settings/schema').catch((error) => {
    loadedSchema = undefined
    throw error
  })
  return loadedSchema
}

/** For the finder. @param {string} words @param {import('../api.js').Api} api */
export async function findSettings(words, api) {
  if (words === '') return []
  return listSettings(await loadSchema(api), [])
    .filter((setting) => setting.kind !== 'names' && matchesSetting(setting, words))
    .map(({ name, description }) => ({
      label: name,
      facts: description.slice(0, 80),
      run: () => location.assign(addressOfView('settings', { find: name })),
    }))
}

/** @param {import('./views.js').ViewContext} context */
export async function show({ root, api, signal, params, setParams, say, onChange }) {
  const [schema] = await Promise.all([loadSchema(api), loadStyle('settings')])
  let settings = await api.request('/api/settings')
  if (signal.aborted) return
  const notices = h('div', { class: 'notices' })
  const form = createForm({ schema, find: params.get('find') ?? '', setParams, onPending: drawBar })
  const bar = h('div', { class: 'pending', role: 'region', 'aria-label': 'Changes that are not saved', hidden: true })
  const count = h('p', { role: 'status' })
  bar.append(count, createButton('Discard', discard), createButton('Review and save', review, { isMain: true }))
  const variables = createVariables({ api, variables: () => settings.variables, onSaved: read, signal, say })
  root.append(notices, form.element, variables.section, bar)
  onChange(['settings'], () => pending.size === 0 && void reload())
  draw()
  await variables.refresh()

  async function read() {
    settings = await api.request('/api/settings')
    drawNotices(notices, settings, restart)
  }

  async function reload() {
    await read()
    draw()
    await variables.refresh()
  }

  function draw() {
    drawNotices(notices, settings, restart)
    form.draw(settings.values)
    drawBar()
  }

  function drawBar() {
    bar.hidden = pending.size === 0
    setText(count, pending.size === 1 ? '1 change' : `${pending.size} changes`)
  }

  async function restart() {
    const text = 'Running turns end first, and messages that arrive meanwhile wait.'
    if (!(await confirm({ title: 'Restart the gateway?', text, action: 'Restart', isDanger: false }))) return
    await api.request('/api/restart', { body: {} })
    say('The gateway restarts.')
  }

  function discard() {
    pending.clear()
    draw()
    form.focus()
  }

  async function review() {
    const result = await reviewChanges({ api, revision: settings.revision, changes: [...pending.values()] })
    if (result === 'cancelled') return
    if (result === 'saved') pending.clear()
    await reload()
    say(result === 'saved' ? 'The settings are saved.' : 'The settings were read again.')
  }
}

/** @param {HTMLElement} notices @param {any} settings @param {() => void} restart */
function drawNotices(notices, { problems, notices: others, pending_restart: waiting }, restart) {
  const lines = [
    ...problems.map(
      (/** @type {any} */ { file, line, path, message }) =>
        `${file}${line === undefined ? '' : `, line ${line}`}: ${path} ${message}`,
    ),
    ...others,
  ]
  const afterRestart = h('p', {}, `${waiting.join(', ')}: applies after a restart. `)
  afterRestart.append(createButton('Restart the gateway', restart))
  notices.replaceChildren(
    ...lines.map((text) => h('p', { class: 'trouble' }, text)),
    ...(waiting.length === 0 ? [] : [afterRestart]),
  )
}

/**
 * The fields, by group, or those that a person looks for.
 *
 * @param {object} options
 * @param {Record<string, any>} options.schema
 * @param {string} options.find
 * @param {(params: Record<string, string>) => void} options.setParams
 * @param {() => void} options.onPending
 */
function createForm({ schema, find, setParams, onPending }) {
  const field = createField({ name: 'find', label: 'Find a setting', value: find })
  const search = /** @type {HTMLInputElement} */ (field.querySelector('input'))
  const groups = h('div', { class: 'setting-groups' })
  const element = h('div', {}, h('div', { class: 'filters' }, field), groups)
  /** @type {readonly Setting[]} */
  let all = []
  search.addEventListener('input', () => {
    setParams({ find: search.value.trim() })
    draw()
  })
  return {
    element,
    focus: () => search.focus(),
    /** @param {readonly import('./settings-fields.js').SettingValue[]} values */
    draw(values) {
      all = listSettings(schema, values)
      draw()
    },
  }

  function draw() {
    const words = search.value.trim()
    groups.replaceChildren(...(words === '' ? drawGroups() : drawMatches(words)))
  }

  /** @param {string} words */
  function drawMatches(words) {
    const matches = all.filter((setting) => matchesSetting(setting, words))
    const exact = matches.filter(({ name }) => name === words)
    const shown = (exact.length > 0 ? exact : matches).slice(0, maxMatches)
    const rest = exact.length > 0 ? 0 : matches.length - shown.length
    const said = matches.length === 0 ? 'No setting has these words. Try another word.' : `${rest} more: add a word.`
    return [...shown.map(createEntry), ...(rest > 0 || matches.length === 0 ? [h('p', { class: 'fine' }, said)] : [])]
  }

  function drawGroups() {
    const open = [...groups.querySelectorAll('details[open]')].map((group) => group.getAttribute('data-group'))
    const sizes = new Map()
    for (const { group } of all) sizes.set(group, (sizes.get(group) ?? 0) + 1)
    // One value needs no group of its own.
    const titleOf = (/** @type {Setting} */ { group }) => (sizes.get(group) === 1 ? 'general' : group)
    return ['general', ...new Set(all.map(titleOf).filter((title) => title !== 'general'))].map((title) =>
      createGroup(
        title,
        all.filter((setting) => titleOf(setting) === title),
        open.includes(title),
      ),
    )
  }

  /** The fields are made when it opens. @param {string} title @param {readonly Setting[]} inside @param {boolean} isOpen */
  function createGroup(title, inside, isOpen) {
    const isSet = inside.filter(({ current }) => current !== undefined && current.source !== 'default').length
    const body = h('div', { class: 'setting-group' })
    const caption = h('span', { class: 'count' }, isSet === 0 ? '' : `${isSet} set`)
    const summary = h('summary', {}, h('span', {}, title), caption)
    const group = h('details', { 'data-group': title, open: isOpen }, summary, body)
    const fill = () => {
      if (group.open && body.childElementCount === 0) body.append(...inside.map(createEntry))
    }
    group.addEventListener('toggle', fill)
    fill()
    return group
  }

  /** @param {Setting} setting @returns {HTMLElement} */
  function createEntry(setting) {
    if (setting.kind !== 'names') return createRow(setting, { pending, onPending })
    return h(
      'div',
      { class: 'form-field setting' },
      createButton(`Add to ${setting.name}`, () => askName(setting)),
    )
  }

  /** @param {Setting} mapping */
  function askName(mapping) {
    return showForm({
      title: `A new entry of ${mapping.name}`,
      text: mapping.description,
      fields: [{ name: 'name', label: 'Name', isRequired: true }],
      action: 'Add',
      problem: 'It could not be added.',
      async act({ name = '' }) {
        const added = settingsOfEntry(schema, mapping, name.trim())
        all = [...all.filter((known) => !added.some((each) => each.name === known.name)), ...added]
        search.value = nameOf([...mapping.path, name.trim()])
        draw()
      },
    })
  }
}
