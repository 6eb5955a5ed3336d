/**
 * What runs by itself: scheduled jobs, webhooks, hooks and plugins.
 */
import { ApiError } from '../api.js'
import { h } from '../dom.js'
import { clockTime, dayName } from '../time.js'
import { openDialog, showForm } from './dialogs.js'
import { createJobs } from './jobs.js'
import { createList, pageOf } from './list.js'
import { createButton, createSection } from './section.js'

/** @param {import('./views.js').ViewContext} context */
export async function show(context) {
  const { root, onChange } = context
  const parts = [createJobs(context), createWebhooks(context), createHooks(context), createPlugins(context)]
  root.append(...parts.map(({ section }) => section))
  const refresh = () => Promise.all(parts.map((part) => part.refresh()))
  onChange(['jobs', 'hooks', 'plugins'], () => void refresh())
  await refresh()
}

/** @param {import('./views.js').ViewContext} context */
function createWebhooks({ api, signal, say }) {
  const list = createList({
    label: 'Webhooks',
    load: pageOf(async () => {
      const { routes, url, is_enabled } = await api.request('/api/webhooks')
      return routes.map((/** @type {any} */ route) => ({ ...route, address: url + route.name, is_enabled }))
    }),
    row: ({ name, address, is_enabled, description, events, deliver, cron_job, source, problems }) => ({
      key: name,
      name,
      facts: [
        h('code', {}, address),
        events.length === 0 ? 'all events' : events.join(', '),
        cron_job === '' ? `to ${deliver.join(', ')}` : `runs ${cron_job}`,
        source,
        !is_enabled && 'webhooks are off: set platforms.webhook.enabled',
      ],
      text: [description, ...problems].filter((line) => line !== '').join('\n'),
      state: problems.length > 0 ? 'bad' : is_enabled ? 'good' : 'off',
      stateName: problems.length > 0 ? 'not usable' : is_enabled ? 'in use' : 'off',
      open: () => showDeliveries(name),
      actions: [{ label: 'Test', act: () => test(name), problem: 'The test could not be sent.' }],
    }),
    empty:
      'No service sends events here. hermes webhook add <name> makes a route and prints its address and its secret.',
    signal,
    say,
  })
  return { section: createSection('Webhooks', list.element), refresh: list.refresh }

  /** @param {string} name */
  function showDeliveries(name) {
    const closing = new AbortController()
    const deliveries = createList({
      label: 'Last events',
      load: pageOf(async () => (await api.request(`/api/webhooks/${encodeURIComponent(name)}/deliveries`)).deliveries),
      row: ({ id, received_at, state, seq }) => ({
        key: `${id} ${received_at}`,
        name: h('code', {}, id),
        facts: [timeOf(received_at), state, seq !== null && `message ${seq}`],
        state: state === 'dead' ? 'bad' : state === 'done' ? 'good' : 'busy',
      }),
      empty: 'No event has arrived. Test sends one.',
      signal: closing.signal,
    })
    const { dialog, form } = openDialog(`Last events of ${name}`, () => closing.abort())
    form.append(
      deliveries.element,
      h(
        'div',
        { class: 'actions' },
        createButton('Close', () => dialog.close()),
      ),
    )
    void deliveries.refresh()
  }

  /** @param {string} name */
  async function test(name) {
    const { status, answer, problems } = await api.request('/api/webhooks/test', { body: { name } })
    const isAccepted = status < 300
    say(isAccepted ? `${name} has accepted the test.` : `${name} has refused the test.`)
    const { dialog, form } = openDialog(isAccepted ? 'The test was accepted' : 'The test was refused', () => undefined)
    form.append(
      h('p', {}, h('code', {}, `${status} ${answer}`)),
      ...problems.map((/** @type {string} */ problem) => h('p', { class: 'trouble' }, problem)),
      h(
        'div',
        { class: 'actions' },
        createButton('Close', () => dialog.close()),
      ),
    )
  }
}

/** @param {import('./views.js').ViewContext} context */
function createHooks({ api, signal, say }) {
  const list = createList({
    label: 'Hooks',
    load: pageOf(async () => (await api.request('/api/hooks')).hooks),
    row: (hook) => ({
      key: hook.name,
      name: hook.name,
      facts: [
        hook.events.join(', '),
        hook.state,
        `${hook.fired} calls`,
        hook.failed > 0 && `${hook.failed} failed`,
        hook.dropped > 0 && `${hook.dropped} dropped`,
        hook.meanMs !== null && `${Math.round(hook.meanMs)} ms`,
        hook.origin,
      ],
      text: [hook.reason, hook.problem, hook.lastError?.text ?? ''].filter((line) => line !== '').join('\n'),
      state:
        hook.state === 'ready' ? (hook.problem === '' ? 'good' : 'warn') : hook.state === 'disabled' ? 'off' : 'bad',
      stateName: hook.state,
      actions: [
        ...(hook.state === 'ready' || hook.state === 'paused' ? [switchOf(hook)] : []),
        { label: 'Test', act: () => test(hook), problem: 'The hook could not be called.' },
      ],
    }),
    empty: 'No hook watches the gateway. hermes hooks new makes one.',
    signal,
    say,
  })
  return { section: createSection('Hooks', list.element), refresh: list.refresh }

  /** @param {any} hook */
  function switchOf({ name, state }) {
    const isPaused = state === 'paused'
    return {
      label: isPaused ? 'Resume' : 'Pause',
      act: () => api.request(`/api/hooks/${isPaused ? 'resume' : 'pause'}`, { body: { name } }),
      problem: 'The hook could not be changed.',
      said: isPaused ? `${name} is called again.` : `${name} is paused.`,
    }
  }

  /** @param {any} hook */
  async function test({ name, events }) {
    await showForm({
      title: `Test ${name}`,
      text: 'It is called with a sample, and may have effects.',
      fields: [
        {
          name: 'event',
          label: 'Event',
          value: events.find((/** @type {string} */ event) => !event.includes('*')) ?? 'agent:end',
          isRequired: true,
        },
      ],
      action: 'Call it',
      problem: 'The call failed.',
      async act({ event }) {
        const result = await api.request('/api/hooks/test', { body: { name, event } })
        if (!result.ok) throw new ApiError(500, result.error, '')
        say(`${name} took ${Math.round(result.ms)} ms.`)
      },
    })
  }
}

/** @param {import('./views.js').ViewContext} context */
function createPlugins({ api, signal, say }) {
  const list = createList({
    label: 'Plugins',
    load: pageOf(async () => (await api.request('/api/plugins')).plugins),
    row: (plugin) => {
      const failures = sum(plugin.hooks, 'failures')
      const isOn = plugin.state === 'loaded' || plugin.state === 'enabled' || plugin.state === 'failed'
      return {
        key: plugin.id,
        name: plugin.id,
        facts: [
          plugin.state,
          plugin.version,
          plugin.hooks.length > 0 && `${sum(plugin.hooks, 'calls')} calls`,
          failures > 0 && `${failures} failed`,
          plugin.registered.length > 0 && plugin.registered.map((/** @type {any} */ { name }) => name).join(', '),
          plugin.origin,
        ],
        text: [plugin.description, plugin.reason, plugin.problem, ...plugin.warnings]
          .filter((line) => line !== '')
          .join('\n'),
        state:
          plugin.state === 'loaded'
            ? plugin.problem === '' && failures === 0
              ? 'good'
              : 'warn'
            : ['failed', 'invalid', 'missing'].includes(plugin.state)
              ? 'bad'
              : 'off',
        stateName: plugin.state,
        actions: plugin.state === 'missing' || plugin.state === 'invalid' ? [] : [switchOf(plugin.id, isOn)],
      }
    },
    empty: 'No plugin is installed. hermes plugins new makes one.',
    signal,
    say,
  })
  return { section: createSection('Plugins', list.element), refresh: list.refresh }

  /** @param {string} id @param {boolean} isOn */
  function switchOf(id, isOn) {
    const text = 'A plugin runs with the rights of the gateway, and sees what people write. config.yaml is changed.'
    return {
      label: isOn ? 'Disable' : 'Enable',
      act: () => api.request('/api/plugins/switch', { body: { id, enabled: !isOn } }),
      problem: 'The plugin could not be changed.',
      said: isOn ? `${id} is disabled.` : `${id} is enabled.`,
      ...(isOn ? {} : { confirm: { title: `Enable ${id}?`, text } }),
    }
  }
}

/** @param {readonly any[]} hooks @param {string} key */
function sum(hooks, key) {
  return hooks.reduce((total, hook) => total + hook[key], 0)
}

/** @param {number} at */
function timeOf(at) {
  return `${dayName(at, Date.now())}, ${clockTime(at)}`
}
