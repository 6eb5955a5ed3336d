/**
 * The field of one setting: what it is for, where its value comes from, and the way back.
 */
import { h } from '../dom.js'
import { createField } from './dialogs.js'
import { createButton } from './section.js'
import { textOfValue, valueOfText } from './settings-fields.js'

/** @typedef {import('./settings-fields.js').Setting} Setting */
/** @typedef {{ path: readonly string[], value?: unknown }} Change */

/**
 * @param {Setting} setting
 * @param {object} options
 * @param {Map<string, Change>} options.pending what is not saved yet
 * @param {() => void} options.onPending
 * @returns {HTMLElement}
 */
export function createRow(setting, options) {
  const { name, current } = setting
  const { pending, onPending } = options
  const { row, control } = createControl(setting, pending.get(name))
  const facts = h('p', { class: 'fine setting-facts' })
  row.append(facts)
  if (current?.source === 'variable') {
    control.disabled = true
    facts.append(`Set by ${current.origin}, which decides before config.yaml.`)
    return row
  }
  control.addEventListener('change', () => {
    try {
      const next = control.type === 'checkbox' ? control.checked : valueOfText(setting, control.value)
      control.setCustomValidity('')
      if (isUnchanged(setting, next)) pending.delete(name)
      else pending.set(name, { path: setting.path, ...(next === undefined ? {} : { value: next }) })
    } catch {
      control.setCustomValidity('This is not valid JSON.')
      control.reportValidity()
    }
    drawFacts()
    onPending()
  })
  drawFacts()
  return row

  function drawFacts() {
    const isChanged = pending.has(name)
    row.classList.toggle('changed', isChanged)
    const undo = () => pending.delete(name)
    const reset = () => pending.set(name, { path: setting.path })
    facts.replaceChildren(
      ...(current?.source === 'file' ? [h('span', {}, current.origin)] : []),
      ...(current?.needs_restart === true ? [h('span', {}, 'applies after a restart')] : []),
      ...(isChanged ? [createBack('Undo', undo)] : current?.source === 'file' ? [createBack('Reset', reset)] : []),
    )
  }

  /** @param {string} label @param {() => unknown} act */
  function createBack(label, act) {
    const again = () => {
      act()
      const next = createRow(setting, options)
      row.replaceWith(next)
      next.querySelector('button')?.focus()
      onPending()
    }
    return createButton(label, again, { name: `${label}: ${name}` })
  }
}

/** @param {Setting} setting @param {Change | undefined} change */
function createControl(setting, change) {
  const { kind, name, current, isSecret, choices, description, fallback } = setting
  const shown = isSecret ? undefined : current?.value
  const value = change === undefined ? shown : change.value
  const type = isSecret && fieldTypes[kind] !== 'area' ? 'password' : fieldTypes[kind]
  const isSet = isSecret && current !== undefined && current.source !== 'default'
  const row = createField({
    name,
    label: name,
    type,
    value: type === 'switch' ? (value === true ? 'on' : '') : textOfValue(setting, value),
    options: kind === 'choice' ? [{ value: '', label: 'default' }, ...choices.map(String)] : [],
    placeholder: isSet ? 'set, not shown' : textOfValue(setting, fallback),
    ...(description === '' ? {} : { hint: description }),
  })
  row.classList.add('setting')
  const control = /** @type {HTMLInputElement} */ (row.querySelector('input, textarea, select'))
  if (kind === 'number') control.step = 'any'
  return { row, control }
}

/** Nothing is to be written. @param {Setting} setting @param {unknown} next */
function isUnchanged({ current, isSecret }, next) {
  if (next === undefined) return isSecret || current === undefined || current.source === 'default'
  return !isSecret && JSON.stringify(next) === JSON.stringify(current?.value)
}

/** @type {Record<Setting['kind'], 'switch' | 'number' | 'select' | 'text' | 'area'>} */
const fieldTypes = {
  switch: 'switch',
  number: 'number',
  choice: 'select',
  text: 'text',
  lines: 'area',
  json: 'area',
  names: 'text',
}
