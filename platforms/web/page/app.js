/**
 * The page: with a token it is the chat, without one it asks for it.
 */
import { openChat } from './chat.js'
import { drawIcons } from './dom.js'
import { createStorage } from './storage.js'
import { forgetToken, keepToken, takeToken } from './token.js'
import { createSignIn } from './view/sign-in.js'

const storage = createStorage(() => window.localStorage)
const gate = createSignIn({
  onToken(token) {
    keepToken(token, storage)
    // The chat is joined to the page once; a fresh page is the simplest way to begin again.
    location.reload()
  },
})

drawIcons()
begin()
// The address with a token may also be opened in a page that is already there.
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
  openChat({
    token,
    storage,
    onLeave(why) {
      forgetToken(storage)
      gate.show(why)
    },
  })
}
