/**
 * Dialogs of the dashboard: a question before something that cannot be taken back, and forms.
 */
import { h } from '../dom.js'
import { createAttempts } from '../view/attempts.js'
import { createButton } from './section.js'

/**
 * @param {object} options
 * @param {string} options.title a question
 * @param {string} [options.text] what happens then
 * @param {string} options.action the word on the button
 * @param {boolean} [options.isDanger]
 * @returns {Promise<boolean>} whether the person wants it
 */
export function confirm({ title, text = '', action, isDanger = true }) {
  return new Promise((resolve) => {
    const { dialog, form } = openDialog(title, () => resolve(false))
    const cancel = createButton('Cancel', () => dialog.close())
    const act = createButton(
      action,
      () => {
        resolve(true)
        dialog.close()
      },
      { isDanger, isMain: true },
    )
    form.append(...(text === '' ? [] : [h('p', {}, text)]), h('div', { class: 'actions ends' }, cancel, act))
    cancel.focus()
  })
}

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {string} label
 * @property {'text' | 'password' | 'number' | 'url' | 'area' | 'select' | 'switch'} [type] default: text
 * @property {string} [value] for a switch `on` or ''
 * @property {readonly (string | { value: string, label: string })[]} [options] of a select, suggestions of a text
 * @property {string} [hint] one sentence below the field
 * @property {string} [placeholder]
 * @property {boolean} [isRequired]
 */

/**
 * Asks for values. The dialog stays open with the reason when `act` rejects.
 *
 * @param {object} options
 * @param {string} options.title
 * @param {string} [options.text]
 * @param {readonly Field[]} options.fields
 * @param {string} options.action the word on the button
 * @param {string} options.problem what is said before the reason when it fails
 * @param {(values: Record<string, string>) => Promise<unknown>} options.act
 * @returns {Promise<boolean>} whether it was done
 */
export function showForm({ title, text = '', fields, action, problem, act }) {
  return new Promise((resolve) => {
    const { dialog, form } = openDialog(title, () => resolve(false))
    const trouble = h('p', { class: 'trouble', role: 'alert', hidden: true })
    const attempt = createAttempts(trouble)
    const submit = h('button', { class: 'quiet main', type: 'submit' }, action)
    form.append(
      ...(text === '' ? [] : [h('p', {}, text)]),
      ...fields.map(createField),
      trouble,
      h(
        'div',
        { class: 'actions ends' },
        createButton('Cancel', () => dialog.close()),
        submit,
      ),
    )
    form.addEventListener('submit', async (event) => {
      event.preventDefault()
      const values = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]))
      submit.disabled = true
      const done = await attempt(async () => void (await act(values)), problem)
      submit.disabled = false
      if (!done) return
      resolve(true)
      dialog.close()
    })
    const first = form.querySelector('input, textarea, select')
    if (first instanceof HTMLElement) first.focus()
  })
}

let lastId = 0

/**
 * A field with its label, also for forms outside of dialogs.
 *
 * @param {Field} field
 */
export function createField({
  name,
  label,
  type = 'text',
  value = '',
  options = [],
  hint,
  placeholder,
  isRequired = false,
}) {
  lastId += 1
  const id = `field-${lastId}`
  const entries = options.map((option) => (typeof option === 'string' ? { value: option, label: option } : option))
  const common = {
    id,
    name,
    class: type === 'switch' ? undefined : 'text',
    required: isRequired,
    'aria-describedby': hint && `${id}-hint`,
  }
  const after = hint === undefined ? [] : [h('p', { class: 'fine', id: `${id}-hint` }, hint)]
  const caption = h('label', { for: id }, label)
  if (type === 'switch')
    return h(
      'div',
      { class: 'form-field switch' },
      h('input', { ...common, type: 'checkbox', value: 'on', checked: value === 'on' }),
      caption,
      ...after,
    )
  if (type === 'select') {
    const select = h(
      'select',
      common,
      ...entries.map((entry) => h('option', { value: entry.value, selected: entry.value === value }, entry.label)),
    )
    return h('div', { class: 'form-field' }, caption, select, ...after)
  }
  if (type === 'area') {
    const area = h('textarea', { ...common, rows: '6', placeholder, spellcheck: 'false' })
    area.value = value
    return h('div', { class: 'form-field' }, caption, area, ...after)
  }
  const list =
    entries.length === 0
      ? []
      : [h('datalist', { id: `${id}-list` }, ...entries.map((entry) => h('option', { value: entry.value })))]
  const input = h('input', {
    ...common,
    type,
    value,
    placeholder,
    autocomplete: 'off',
    list: list.length === 0 ? undefined : `${id}-list`,
  })
  return h('div', { class: 'form-field' }, caption, input, ...list, ...after)
}

/**
 * A dialog that removes itself when it closes.
 *
 * @param {string} title
 * @param {() => void} onClose
 */
export function openDialog(title, onClose) {
  lastId += 1
  const id = `dialog-${lastId}`
  const form = h('form', { method: 'dialog' }, h('h2', { id }, title))
  const dialog = h('dialog', { class: 'remembered asks', 'aria-labelledby': id }, form)
  const opener = document.activeElement
  dialog.addEventListener('close', () => {
    dialog.remove()
    if (opener instanceof HTMLElement) opener.focus()
    onClose()
  })
  document.body.append(dialog)
  dialog.showModal()
  return { dialog, form }
}
