/**
 * What happens now: what needs a person, what runs, and how the platforms are.
 */
import { createList, pageOf } from './list.js'
import { createSection } from './section.js'

/** @param {import('./views.js').ViewContext} context */
export async function show({ root, api, signal, onChange, say }) {
  const platforms = createList({
    label: 'Platforms',
    load: pageOf(async () => Object.entries((await api.request('/api/status')).platforms)),
    row: ([name, { state, reason }]) => ({
      key: name,
      name,
      facts: [state, reason],
      state: state === 'connected' ? 'good' : state === 'disabled' ? 'off' : 'bad',
    }),
    empty: 'No platform is connected. Connect a chat to talk to Hermes from there.',
    signal,
    say,
  })
  root.append(createSection('Platforms', platforms.element))
  onChange(['platforms'], platforms.refresh)
  await platforms.refresh()
}
