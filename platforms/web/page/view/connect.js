/**
 * The dialog that connects a model: a provider, its key and a model are chosen, tried, and stored. Loaded when it is opened.
 */
import { byId, h, setText } from '../dom.js'
import { createAttempts } from './attempts.js'

/** @typedef {import('../../protocol.ts').WireConnection} WireConnection */

/** The entry of the list for a server by its address. */
const ownServer = ''

/** @param {Pick<import('../api.js').Api, 'modelOffers' | 'modelsOf' | 'tryModel' | 'connectModel'>} api */
export async function showConnect(api) {
  const dialog = byId('connect', HTMLDialogElement)
  const provider = byId('connect-provider', HTMLSelectElement)
  const address = byId('connect-address', HTMLInputElement)
  const key = byId('connect-key', HTMLInputElement)
  const model = byId('connect-model', HTMLInputElement)
  const answer = byId('connect-answer', HTMLElement)
  const tryButton = byId('connect-try', HTMLButtonElement)
  const useButton = byId('connect-use', HTMLButtonElement)
  const attempt = createAttempts(byId('connect-trouble', HTMLElement))
  /** @type {Set<string>} */
  let ready = new Set()
  let listed = ''

  provider.onchange = choose
  // A key belongs to one provider and to one address: it is sent to no other.
  address.onchange = () => {
    key.value = ''
    void list()
  }
  key.onchange = () => void list()
  for (const field of [provider, address, key, model]) field.oninput = () => reset()
  byId('connect-form', HTMLFormElement).onsubmit = (event) => {
    event.preventDefault()
    void tryIt()
  }
  useButton.onclick = () => void use()
  byId('connect-close', HTMLButtonElement).onclick = () => dialog.close()
  key.value = ''
  reset()
  dialog.showModal()
  await attempt(async () => {
    const { current, providers } = await api.modelOffers()
    ready = new Set(providers.flatMap(({ name, is_ready }) => (is_ready ? [name] : [])))
    provider.replaceChildren(
      ...providers.map(({ name, label, is_local, is_ready }) =>
        h('option', { value: name }, `${label}${is_local ? ', runs on this machine' : is_ready ? ', has a key' : ''}`),
      ),
      h('option', { value: ownServer }, 'Another server, by its address'),
    )
    if (ready.has(current.provider)) {
      provider.value = current.provider
      model.value = current.model
    }
    choose()
  }, 'The providers could not be loaded.')

  function choose() {
    const isOwn = provider.value === ownServer
    key.value = ''
    byId('connect-models', HTMLElement).replaceChildren()
    byId('connect-address-row', HTMLElement).hidden = !isOwn
    byId('connect-key-row', HTMLElement).hidden = !isOwn && ready.has(provider.value)
    reset()
    void list()
  }

  function reset() {
    useButton.hidden = true
    tryButton.hidden = false
    setText(answer, '')
    byId('connect-trouble', HTMLElement).hidden = true
  }

  /** What the person has entered; `undefined` while something is missing. @returns {Omit<WireConnection, 'model'> | undefined} */
  function entered() {
    const isOwn = provider.value === ownServer
    const typed = byId('connect-key-row', HTMLElement).hidden ? '' : key.value.trim()
    if (isOwn ? address.value.trim() === '' : typed === '' && !ready.has(provider.value)) return undefined
    return {
      ...(isOwn ? { base_url: address.value.trim() } : { provider: provider.value }),
      ...(typed === '' ? {} : { key: typed }),
    }
  }

  /** Offers the models of the provider as soon as it can be asked. */
  async function list() {
    const connection = entered()
    const asked = JSON.stringify(connection ?? null)
    if (connection === undefined || asked === listed) return
    listed = asked
    const done = await attempt(async () => {
      const models = await api.modelsOf(connection)
      if (asked !== listed) return
      byId('connect-models', HTMLElement).replaceChildren(...models.map((id) => h('option', { value: id })))
      const [first] = models
      if (first !== undefined && !models.includes(model.value)) model.value = models.length === 1 ? first : ''
      model.placeholder = first ?? ''
    }, 'The models could not be listed.')
    // The same input is asked again.
    if (!done && asked === listed) listed = ''
  }

  async function tryIt() {
    const connection = entered()
    if (connection === undefined || model.value.trim() === '') {
      const missing = connection === undefined ? (provider.value === ownServer ? address : key) : model
      missing.focus()
      return
    }
    tryButton.disabled = true
    setText(answer, 'Asking the model. The first answer of a server on this machine can take a minute.')
    const done = await attempt(async () => {
      const text = await api.tryModel({ ...connection, model: model.value.trim() })
      setText(answer, text.trim() === '' ? 'It answered without words.' : `It answered: ${text.trim()}`)
    }, 'The model did not answer.')
    tryButton.disabled = false
    if (!done) return setText(answer, '')
    tryButton.hidden = true
    useButton.hidden = false
    useButton.focus()
  }

  async function use() {
    const connection = entered()
    if (connection === undefined) return
    useButton.disabled = true
    const done = await attempt(
      () => api.connectModel({ ...connection, model: model.value.trim() }),
      'The model could not be stored.',
    )
    useButton.disabled = false
    key.value = ''
    // What the gateway says of itself is read with a new stream.
    if (done) location.reload()
  }
}
