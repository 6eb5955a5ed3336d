/**
 * The entry of the page: shows the conversations with a token and the sign-in screen without one.
 */
import { addressOfChat, chatOf, createId, sessionOf } from './address.js'
import { createApi } from './api.js'
import { openChat } from './chat.js'
import { byId, drawIcons } from './dom.js'
import { createStorage } from './storage.js'
import { forgetToken, keepToken, takeToken } from './token.js'
import { openTranscript } from './transcript.js'
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
  const chat = chatOf(location)
  const session = sessionOf(location)
  const api = createApi({ token, chat, fetch: (...request) => fetch(...request) })
  const conversations = createConversations({
    api,
    isOpen: ({ id, platform, chat_id, is_current }) =>
      session === null ? platform === 'web' && is_current && chat_id === chat : id === session,
    now: () => Date.now(),
  })
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
    event.preventDefault()
    conversations.find()
  })
  byId('new', HTMLButtonElement).addEventListener('click', () => location.assign(addressOfChat(createId())))
  // What other pages and platforms have written is seen when the person comes back; nothing is asked meanwhile.
  document.addEventListener('visibilitychange', () => document.hidden || void conversations.refresh())
  void conversations.refresh()
  if (session !== null) return void openTranscript({ api, id: session })
  openChat({
    api,
    chat,
    storage,
    onStored: conversations.refresh,
    onLeave(why) {
      forgetToken(storage)
      gate.show(why)
    },
  })
}
