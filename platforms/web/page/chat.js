/**
 * The chat: connects the stream of the gateway, the user's input and the views.
 */
import { createId } from './address.js'
import { createBlobs } from './blobs.js'
import { createConnection } from './connection.js'
import { createContinued } from './continued.js'
import { byId } from './dom.js'
import { createFiles } from './files.js'
import { createOutbox } from './outbox.js'
import { createStore, typingMs } from './store.js'
import { createUploads } from './uploads.js'
import { createAnnouncer } from './view/announcer.js'
import { createAttach } from './view/attach.js'
import { createAttempts } from './view/attempts.js'
import { createBanners } from './view/banners.js'
import { createComposer } from './view/composer.js'
import { copyOnClick } from './view/copy-button.js'
import { createEmptyState } from './view/empty-state.js'
import { createLog } from './view/log.js'
import { createScroller } from './view/scroller.js'
import { createStatus } from './view/status.js'
import { keepOpenConversation } from './view/undo.js'
import { createWorkingIndicator } from './view/working-indicator.js'

/** @typedef {ReturnType<typeof createStore>} Store */

const wrongToken = 'This token is not valid. The gateway may have a new one: run hermes web url again.'

/**
 * @param {object} options
 * @param {import('./api.js').Api} options.api
 * @param {string} options.chat
 * @param {import('./storage.js').Store} options.storage
 * @param {() => void} options.onStored the conversation has changed in the database
 * @param {(why: string) => void} options.onLeave the token is wrong or no longer wanted
 */
export function openChat({ api, chat, storage, onStored, onLeave }) {
  const now = () => Date.now()
  const app = byId('app', HTMLElement)
  const stopButton = byId('stop', HTMLButtonElement)
  const olderButton = byId('older', HTMLButtonElement)
  const attempt = createAttempts(byId('trouble', HTMLElement))
  let left = false
  let frame = 0
  /** @type {Awaited<ReturnType<typeof import('./view/beside.js').createBeside>> | undefined} */
  let beside

  const announcer = createAnnouncer(document)
  const banners = createBanners(storage, {
    model: async () => (await import('./view/connect.js')).showConnect(api),
    chat: async () => (await import('./view/connect-chat.js')).openConnectChat(api),
  })
  const working = createWorkingIndicator({ now })
  const continued = createContinued({ api, onChange: schedule })
  const store = createStore({
    ...{ now, onChange: schedule, onStored: (key) => outbox.confirm(key) },
    onReply(entry) {
      announcer.reply(entry)
      scroller.noteNew()
    },
  })
  const uploads = uploadsOf({ api, now, shownBy: () => [attach, outbox] })
  const files = createFiles({ fetchFile: api.file, localFile: uploads.blob, now })
  const outbox = createOutbox({
    send: api.send,
    uploads,
    store,
    storage,
    storageKey: `unsent.${chat}`,
    now,
    newId: createId,
    onUnauthorised: () => leave(wrongToken),
  })
  const log = createLog({
    list: byId('log', HTMLElement),
    now,
    actions: {
      ...actionsOf(outbox, api),
      files,
      onWrite: () => composer.focus(),
      onAgain: () => send('/retry'),
      onMenu: async (item, button) => (await import('./view/message-menu.js')).showMessageMenu(menu, item, button),
    },
  })
  const scroller = scrollerOf(app)
  const attach = createAttach({ uploads, storage, storageKey: `files.${chat}`, newId: createId })
  const kept = { storage, storageKey: `draft.${chat}` }
  const composer = composerOf({ ...kept, attach, onSend: send, loadCommands: api.commands })
  const menu = {
    ...{ api, files, storage, attempt },
    writing: { again: () => send('/retry'), quote: composer.quote, edit: composer.edit, attach: attach.add },
  }
  const empty = createEmptyState(composer.fill)
  const status = createStatus({ api, onForget: () => leave('') })
  const connection = createConnection({
    stream: api.stream,
    after: store.resumeId,
    onBegin: store.begin,
    /** @param {import('../protocol.ts').LiveEvent} event */
    onEvent(event) {
      store.apply(event)
      if (event.type === 'turn') onStored()
      if (event.type === 'ready') void showCopied()
      if (event.type === 'typing') setTimeout(schedule, typingMs)
      if (event.type === 'model') status.setModel(event)
      if (event.type !== 'info') return
      status.setInfo(event.info)
      banners.update(event.info)
    },
    onState(state, reason) {
      if (state === 'refused') return leave(wrongToken)
      status.setState(state, reason)
      outbox.reachable(state === 'open')
      if (state === 'open') attach.reachable()
    },
  })

  copyOnClick(byId('log', HTMLElement))
  const stop = stopOnClick(stopButton, attempt, api)
  listenToOlder({ button: olderButton, attempt, api, store, continued, scroller, render })
  listenToKeys({ store, scroller, stop })
  window.addEventListener('online', connection.retryNow)
  document.addEventListener('visibilitychange', () => document.hidden || connection.retryNow())
  connection.start()
  composer.enable()
  const loading = import('./view/beside.js')
    .then(({ createBeside }) => createBeside({ api, files, items: store.items, onCommand: send }))
    .then((loaded) => {
      beside = loaded
      return loaded
    })

  return {
    /** What is stored of this conversation. @param {import('../protocol.ts').WireSession} session */
    async setSession(session) {
      await Promise.allSettled([
        loading.then((loaded) => loaded.setSession(session)),
        continued.setSession(session).then(showCopied),
      ])
    },
  }

  /** What was copied comes before the first message of the chat. */
  async function showCopied() {
    if (store.ready() && !store.more() && continued.items.length === 0) await continued.load()
  }

  /** @param {string} why */
  function leave(why) {
    if (left) return
    left = true
    connection.stop()
    app.hidden = true
    onLeave(why)
  }

  /** @param {string} text @param {readonly import('./uploads.js').LocalFile[]} [sent] */
  function send(text, sent = []) {
    keepOpenConversation()
    outbox.add(text, sent)
    scroller.toEnd()
  }

  /** Draws once for all events of a frame. */
  function schedule() {
    frame ||= requestAnimationFrame(render)
  }

  function render() {
    cancelAnimationFrame(frame)
    frame = 0
    beside?.update()
    draw({ store, continued, now, log, empty, working, olderButton, stopButton })
  }
}

/**
 * @param {object} options
 * @param {import('./api.js').Api} options.api
 * @param {() => number} options.now
 * @param {() => readonly { progress: (id: string, sent: number) => void }[]} options.shownBy shows the progress of uploads
 */
function uploadsOf({ api, now, shownBy }) {
  return createUploads({
    api,
    blobs: createBlobs({ now }),
    onProgress(id, sent) {
      for (const one of shownBy()) one.progress(id, sent)
    },
  })
}

/** @param {ReturnType<typeof createOutbox>} outbox @param {import('./api.js').Api} api */
function actionsOf(outbox, api) {
  return { onRetry: outbox.retry, onDiscard: outbox.discard, onPress: api.press, loadTool: api.tool }
}

/** @param {Pick<Parameters<typeof createComposer>[0], 'attach' | 'storage' | 'storageKey' | 'onSend' | 'loadCommands'>} options */
function composerOf(options) {
  return createComposer({
    ...options,
    form: byId('composer', HTMLFormElement),
    field: byId('message', HTMLTextAreaElement),
    sendButton: byId('send', HTMLButtonElement),
    hintList: byId('hints', HTMLElement),
    touch: matchMedia('(pointer: coarse)').matches,
  })
}

/** @param {HTMLElement} frame */
function scrollerOf(frame) {
  return createScroller({
    viewport: byId('scroller', HTMLElement),
    content: byId('content', HTMLElement),
    jump: byId('jump', HTMLButtonElement),
    frame,
  })
}

/**
 * @param {HTMLButtonElement} button
 * @param {ReturnType<typeof createAttempts>} attempt
 * @param {import('./api.js').Api} api
 */
function stopOnClick(button, attempt, api) {
  button.addEventListener('click', stop)
  return stop

  function stop() {
    button.disabled = true
    void attempt(() => api.stop(), 'The agent could not be stopped.').then((done) => {
      if (!done) button.disabled = false
    })
  }
}

/**
 * Shows the next earlier messages: those of the chat, then those that were copied into it.
 *
 * @param {object} options
 * @param {HTMLButtonElement} options.button
 * @param {ReturnType<typeof createAttempts>} options.attempt
 * @param {import('./api.js').Api} options.api
 * @param {Store} options.store
 * @param {ReturnType<typeof createContinued>} options.continued
 * @param {ReturnType<typeof createScroller>} options.scroller
 * @param {() => void} options.render
 */
function listenToOlder({ button, attempt, api, store, continued, scroller, render }) {
  button.addEventListener('click', async () => {
    const oldest = store.oldestId()
    button.disabled = true
    await attempt(async () => {
      const older = store.more() && oldest !== undefined ? await api.earlier(oldest) : undefined
      if (older === undefined) await continued.load()
      scroller.keepPlace(() => {
        if (older !== undefined) store.addOlder(older)
        render()
      })
    }, 'Earlier messages could not be loaded.')
    button.disabled = false
  })
}

/**
 * Escape stops the turn. Page keys scroll the conversation while the field keeps the focus.
 *
 * @param {object} options
 * @param {Store} options.store
 * @param {ReturnType<typeof createScroller>} options.scroller
 * @param {() => void} options.stop
 */
function listenToKeys({ store, scroller, stop }) {
  document.addEventListener('keydown', (event) => {
    const { key, target } = event
    if (event.isComposing) return
    if (
      key === 'Escape' &&
      store.workingSince() !== null &&
      document.querySelector(':popover-open, dialog[open]') === null
    )
      stop()
    const leafing = target instanceof HTMLTextAreaElement && target.scrollHeight <= target.clientHeight
    if (leafing && (key === 'PageUp' || key === 'PageDown')) {
      event.preventDefault()
      scroller.page(key === 'PageUp' ? -1 : 1)
    }
  })
}

/**
 * Draws the state of the store.
 *
 * @param {object} options
 * @param {Store} options.store
 * @param {ReturnType<typeof createContinued>} options.continued
 * @param {() => number} options.now
 * @param {ReturnType<typeof createLog>} options.log
 * @param {ReturnType<typeof createEmptyState>} options.empty
 * @param {ReturnType<typeof createWorkingIndicator>} options.working
 * @param {HTMLButtonElement} options.olderButton
 * @param {HTMLButtonElement} options.stopButton
 */
function draw({ store, continued, now, log, empty, working, olderButton, stopButton }) {
  const items = [...continued.items, ...store.items()]
  const since = store.workingSince() ?? (store.typing() ? now() : null)
  log.render(items)
  empty.show(store.ready() && items.length === 0)
  olderButton.hidden = !store.more() && !(store.ready() && continued.more())
  working.show(items.some(showsProgress) ? null : since)
  const running = store.workingSince() !== null
  if (stopButton.hidden === running) stopButton.disabled = false
  stopButton.hidden = !running
}

/**
 * Whether the conversation itself shows that the agent is working.
 *
 * @param {import('./items.js').Item} item
 */
function showsProgress(item) {
  if (item.kind === 'agent') return item.live
  return item.kind === 'activity' && item.running && item.tools.some(({ state }) => state === 'running')
}
