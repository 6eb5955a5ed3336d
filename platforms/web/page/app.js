/**
 * The entry of the page: shows the conversations or the dashboard with a token, and the sign-in screen without one.
 */
import { addActions, listenToActionKeys } from './actions.js'
import { addressOfChat, addressOfView, chatOf, createId, sessionOf, traceOf, viewOf } from './address.js'
import { createApi } from './api.js'
import { byId, drawIcons, h } from './dom.js'
import { createStorage } from './storage.js'
import { forgetToken, keepToken, takeToken } from './token.js'
import { createConversations } from './view/conversations.js'
import { createSignIn } from './view/sign-in.js'

const storage = createStorage(() => window.localStorage)
const gate = createSignIn({
  onToken(token) {
    keepToken(token, storage)
    // The chat attaches its listeners once. A reload is the simplest way to start again.
    location.reload()
  },
})

drawIcons()
begin()
// The URL with a token may be opened in an existing page.
window.addEventListener('hashchange', () => {
  if (location.hash.includes('token=')) location.reload()
})

function begin() {
  const token = takeToken(location, history, storage)
  if (token === null) gate.show('')
  else enter(token)
}

/** @param {string} token */
function enter(token) {
  const api = createApi({ token, chat: chatOf(location), fetch: (...request) => fetch(...request) })
  /** @param {string} why */
  const onLeave = (why) => {
    forgetToken(storage)
    gate.show(why)
  }
  const isDashboard = viewOf(location) !== null
  const startChat = () => location.assign(addressOfChat(createId()))
  byId('new', HTMLButtonElement).addEventListener('click', startChat)
  const { chats, dashboard } = createSwitch(isDashboard)
  addActions([
    { label: 'Find a conversation, a setting or an action', keys: 'Ctrl K', run: () => find(api) },
    { label: 'List the keys', keys: '?', run: showKeys },
    { label: 'Start a conversation', run: startChat },
    { label: 'Connect a model', run: async () => (await import('./view/connect.js')).showConnect(api) },
    { label: 'Connect a chat', run: async () => (await import('./view/connect-chat.js')).openConnectChat(api) },
    isDashboard
      ? { label: 'Open the conversations', keys: '0', run: () => chats.click() }
      : { label: 'Open the dashboard', run: () => dashboard.click() },
  ])
  listenToActionKeys()
  if (isDashboard) void import('./dashboard/frame.js').then(({ openDashboard }) => openDashboard({ api, onLeave }))
  else void openConversations(api, onLeave)
}

/** @param {import('./api.js').Api} api @param {(why: string) => void} onLeave */
async function openConversations(api, onLeave) {
  const chat = chatOf(location)
  const session = sessionOf(location)
  const trace = traceOf(location)
  /** @type {ReturnType<typeof import('./chat.js').openChat> | undefined} */
  let opened
  /** @type {import('../protocol.ts').WireSession | undefined} */
  let known
  const conversations = createConversations({
    api,
    isOpen: ({ id, platform, chat_id, is_current }) =>
      session === null ? platform === 'web' && is_current && chat_id === chat : id === session,
    now: () => Date.now(),
    onOpen(open) {
      known = open
      void opened?.setSession(open)
    },
  })
  storage.set('conversation', location.search)
  // What other pages and platforms have written is seen when the person comes back; nothing is asked meanwhile.
  document.addEventListener('visibilitychange', () => document.hidden || void conversations.refresh())
  // The frame is painted before the modules of the conversation arrive.
  byId('app', HTMLElement).hidden = false
  void conversations.refresh()
  if (trace !== null) return (await import('./trace.js')).openTrace({ api, subject: trace })
  if (session !== null) return (await import('./transcript.js')).openTranscript({ api, id: session, storage })
  addActions([
    { label: 'Stop the agent', keys: 'Escape' },
    { label: 'New line in a message', keys: 'Shift Enter' },
  ])
  const { openChat } = await import('./chat.js')
  opened = openChat({ api, chat, storage, onStored: conversations.refresh, onLeave })
  if (known !== undefined) void opened.setSession(known)
}

/** The two homes of the page. @param {boolean} isDashboard */
function createSwitch(isDashboard) {
  const chats = h(
    'a',
    { href: `/${storage.get('conversation') ?? ''}`, 'aria-current': !isDashboard && 'true' },
    'Conversations',
  )
  const dashboard = h('a', { href: addressOfView('now'), 'aria-current': isDashboard && 'true' }, 'Dashboard')
  byId('side-switch', HTMLElement).append(chats, dashboard)
  return { chats, dashboard }
}

/** @param {import('./api.js').Api} api */
async function find(api) {
  // What is typed before it is there belongs to it, not to the message.
  let typed = ''
  /** @param {KeyboardEvent} event */
  const hold = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key.length !== 1) return
    event.preventDefault()
    event.stopImmediatePropagation()
    typed += event.key
  }
  document.addEventListener('keydown', hold, { capture: true })
  try {
    const { openFinder } = await import('./finder.js')
    await openFinder(api, () => {
      document.removeEventListener('keydown', hold, { capture: true })
      return typed
    })
  } finally {
    document.removeEventListener('keydown', hold, { capture: true })
  }
}

async function showKeys() {
  const { showKeys: show } = await import('./finder.js')
  return show()
}
