/**
 * The dashboard: the list of its views beside the one that is open. Views change without a reload, and the back button leads
 * through them.
 */
import { addActions } from '../actions.js'
import { addressOfView, viewOf } from '../address.js'
import { ApiError } from '../api.js'
import { byId, h, setText } from '../dom.js'
import { createStatus } from '../view/status.js'
import { createChanges } from './changes.js'
import { createButton, loadStyle } from './section.js'
import { views } from './views.js'

/**
 * @param {object} options
 * @param {import('../api.js').Api} options.api
 * @param {(why: string) => void} options.onLeave the token is wrong or no longer wanted
 */
export async function openDashboard({ api, onLeave }) {
  const app = byId('app', HTMLElement)
  const nav = byId('views', HTMLElement)
  const title = h('h2', { tabindex: '-1' })
  const about = h('p', { class: 'fine' })
  const root = h('div', { class: 'view' })
  const said = h('p', { class: 'unseen', role: 'status' })
  const main = h(
    'main',
    { id: 'dashboard', class: 'dashboard', tabindex: '-1' },
    h('header', { class: 'view-head' }, title, about),
    root,
    said,
  )
  const status = createStatus({ api, onForget: () => leave('') })
  const changes = createChanges({
    api,
    onState: status.setState,
    onRefused: () => leave('This token is not valid. The gateway may have a new one: run hermes web url again.'),
  })
  let opened = new AbortController()

  for (const id of ['conversations-list', 'conversations-more', 'conversations-empty'])
    byId(id, HTMLElement).hidden = true
  for (const element of document.querySelectorAll('.side-search, #scroller, .dock')) element.setAttribute('hidden', '')
  byId('scroller', HTMLElement).after(main)
  const skip = document.querySelector('.skip')
  if (skip instanceof HTMLAnchorElement) {
    skip.href = '#dashboard'
    setText(skip, 'Skip to the view')
  }
  nav.hidden = false
  nav.append(
    ...views.map(({ name, title: label }, index) =>
      h(
        'li',
        {},
        h(
          'a',
          { href: addressOfView(name), 'data-view': name },
          label,
          h('kbd', { 'aria-hidden': 'true' }, String(index + 1)),
        ),
      ),
    ),
  )
  addActions(
    views.map(({ name, title: label }, index) => ({
      label: `Open ${label}`,
      keys: String(index + 1),
      run: () => go(addressOfView(name)),
    })),
  )
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey
    if (link === null || !isPlain || link.origin !== location.origin || viewOf(link) === null) return
    event.preventDefault()
    go(link.pathname + link.search)
  })
  window.addEventListener('popstate', () => void show())
  await loadStyle('dashboard')
  app.hidden = false
  changes.start()
  await show()

  /** @param {string} address */
  function go(address) {
    const panel = byId('conversations', HTMLElement)
    if (panel.matches(':popover-open')) panel.hidePopover()
    if (address !== location.pathname + location.search) history.pushState(null, '', address)
    void show().then(() => title.focus({ preventScroll: true }))
  }

  async function show() {
    opened.abort()
    opened = new AbortController()
    const { signal } = opened
    const name = viewOf(location)
    const view = views.find((each) => each.name === name) ?? views[0]
    if (view === undefined) return
    for (const link of nav.querySelectorAll('a')) {
      if (link.dataset['view'] === view.name) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
    }
    document.title = `${view.title} · Hermes`
    setText(title, view.title)
    setText(about, view.about)
    const part = h('div', { class: 'view-body' })
    root.replaceChildren(part)
    main.scrollTop = 0
    try {
      const { show: fill } = await view.load()
      if (signal.aborted) return
      await fill({
        root: part,
        api,
        signal,
        params: new URLSearchParams(location.search),
        setParams: (params) => setParams(view.name, params),
        onChange: (topics, listener) => changes.watch(topics, listener, signal),
        say: (text) => setText(said, text),
      })
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ApiError && error.unauthorised) return leave(error.message)
      const reason = error instanceof ApiError ? `${error.message} ${error.hint}` : 'The gateway cannot be reached.'
      part.replaceChildren(
        h('p', { class: 'trouble', role: 'alert' }, `The view could not be opened. ${reason}`),
        createButton('Try again', show),
      )
    }
  }

  /** @param {string} why */
  function leave(why) {
    opened.abort()
    changes.stop()
    app.hidden = true
    onLeave(why)
  }
}

/** @param {string} view @param {Record<string, string>} params */
function setParams(view, params) {
  const query = new URLSearchParams(location.search)
  query.set('view', view)
  for (const [name, value] of Object.entries(params)) {
    if (value === '') query.delete(name)
    else query.set(name, value)
  }
  history.replaceState(null, '', `/?${query}`)
}
