/**
 * The entry of the page: shows the chat with a token and the sign-in screen without one.
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
  openChat({
    token,
    storage,
    onLeave(why) {
      forgetToken(storage)
      gate.show(why)
    },
  })
}
