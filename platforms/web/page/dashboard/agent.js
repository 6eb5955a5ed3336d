/**
 * What the agent knows and may use: memory, skills, tools, MCP servers, and where its commands run.
 */
import { h } from '../dom.js'
import { confirm, createField, showForm } from './dialogs.js'
import { createList, pageOf } from './list.js'
import { createButton, createSection } from './section.js'
import { createSkills } from './skills.js'

/** @param {import('./views.js').ViewContext} context */
export async function show(context) {
  const parts = [
    createMemory(context),
    createSkills(context),
    createTools(context),
    createServers(context),
    createEnvironment(context),
  ]
  context.root.append(...parts.flatMap(({ sections }) => sections))
  await Promise.all(parts.map((part) => part.refresh()))
}

/** @typedef {{ target: 'memory' | 'user', enabled: boolean, entries: string[], usage: string, state: string, problem: string }} MemoryFile */

/** @param {import('./views.js').ViewContext} context */
function createMemory({ api, signal, say }) {
  /** @type {{ files: MemoryFile[], archived: { archived_at: string, target: string, content: string }[] } | undefined} */
  let memory
  const titles = { memory: 'Memory', user: 'Profile of the owner' }
  const files = /** @type {const} */ (['memory', 'user']).map(createFile)
  const archive = createList({
    label: 'Earlier entries',
    load: pageOf(async () => memory?.archived ?? []),
    row: ({ archived_at, target, content }) => ({
      key: `${archived_at} ${content}`,
      name: content,
      facts: [target === 'user' ? 'profile' : 'notes', archived_at.slice(0, 10)],
    }),
    empty: 'No entry had to make room. Entries that do are kept here.',
    signal,
  })
  const history = h('details', {}, h('summary', {}, 'Earlier entries'), archive.element)
  return { sections: [...files.map(({ section }) => section), history], refresh }

  async function refresh() {
    memory = await api.request('/api/memory')
    await Promise.all([...files.map((file) => file.refresh()), archive.refresh()])
  }

  /** @param {'memory' | 'user'} target */
  function createFile(target) {
    const about = h('p', { class: 'fine' })
    const list = createList({
      label: titles[target],
      load: pageOf(async () => {
        const file = memory?.files.find((each) => each.target === target)
        about.textContent =
          file === undefined ? '' : file.enabled ? `${file.usage}. ${file.problem}` : 'Switched off in the settings.'
        return file?.entries ?? []
      }),
      row: (entry) => ({
        key: entry,
        name: h('span', { class: 'entry' }, entry),
        actions: [
          { label: 'Edit', act: () => edit(target, entry), problem: 'The entry could not be changed.' },
          {
            label: 'Remove',
            isDanger: true,
            confirm: { title: 'Remove this entry?', text: entry },
            act: () => change(target, [{ action: 'remove', old_text: entry }]),
            problem: 'The entry could not be removed.',
            said: 'The entry is removed.',
          },
        ],
      }),
      empty:
        target === 'user'
          ? 'Nothing is known of you yet. Tell Hermes, or add it here.'
          : 'The agent remembers nothing yet.',
      signal,
      say,
    })
    const add = createButton('Add an entry', () => edit(target, undefined))
    return { section: createSection(titles[target], about, list.element, add), refresh: list.refresh }
  }

  /** @param {'memory' | 'user'} target @param {string | undefined} entry */
  function edit(target, entry) {
    return showForm({
      title: entry === undefined ? 'Add an entry' : 'Change the entry',
      text: 'New conversations know it.',
      fields: [{ name: 'content', label: 'Entry', type: 'area', value: entry ?? '', isRequired: true }],
      action: entry === undefined ? 'Add' : 'Save',
      problem: 'It could not be stored.',
      act: ({ content = '' }) =>
        change(
          target,
          entry === undefined ? [{ action: 'add', content }] : [{ action: 'replace', old_text: entry, content }],
        ),
    })
  }

  /** @param {string} target @param {readonly object[]} operations */
  async function change(target, operations) {
    memory = await api.request('/api/memory', { body: { target, operations } })
    await Promise.all([...files.map((file) => file.refresh()), archive.refresh()])
  }
}

/** @param {import('./views.js').ViewContext} context */
function createTools({ api, signal, say, params, setParams }) {
  const filters = h('div', { class: 'filters' })
  let platform = params.get('platform') ?? 'web'
  const list = createList({
    label: 'Tools',
    load: pageOf(async () => {
      const { toolsets, platforms } = await api.request(`/api/toolsets?${new URLSearchParams({ platform })}`)
      if (filters.childElementCount === 0) choose(platforms)
      return toolsets
    }),
    row: ({ name, state, reason, tools }) => ({
      key: name,
      name,
      facts: [state, tools.join(', ')],
      text: reason,
      state: state === 'on' ? 'good' : state === 'partly' ? 'warn' : 'off',
      stateName: state,
    }),
    empty: 'No tool exists.',
    signal,
    say,
  })
  const note = h(
    'p',
    { class: 'fine' },
    'What new conversations are offered. The settings toolsets and platform_toolsets choose.',
  )
  return { sections: [createSection('Tools', note, filters, list.element)], refresh: list.refresh }

  /** @param {readonly string[]} platforms */
  function choose(platforms) {
    const field = createField({
      name: 'platform',
      label: 'Platform',
      type: 'select',
      value: platform,
      options: platforms,
    })
    const select = /** @type {HTMLSelectElement} */ (field.querySelector('select'))
    select.addEventListener('change', () => {
      platform = select.value
      setParams({ platform })
      void list.refresh()
    })
    filters.append(field)
  }
}

/** @param {import('./views.js').ViewContext} context */
function createServers({ api, signal, say }) {
  const list = createList({
    label: 'MCP servers',
    load: pageOf(async () => (await api.request('/api/mcp')).servers),
    row: ({ name, state, connection, tools, problem }) => ({
      key: name,
      name,
      facts: [state, h('code', {}, connection), tools.length > 0 && `${tools.length} tools: ${tools.join(', ')}`],
      text: problem,
      state: state === 'on' ? 'good' : state === 'failing' ? 'bad' : 'off',
      stateName: state,
    }),
    empty: 'No MCP server is configured. hermes mcp add <name> --url <address> adds one.',
    signal,
    say,
  })
  const reload = createButton('Ask all servers again', async () => {
    const text = 'They are stopped and started. Calls that run end with an error.'
    if (!(await confirm({ title: 'Ask all servers again?', text, action: 'Ask again', isDanger: false }))) return
    say('The servers are being asked.')
    await api.request('/api/mcp/reload', { body: {} })
    await list.refresh()
  })
  const note = h('p', { class: 'fine' }, 'A server with a login is logged in by hermes mcp login <name>.')
  return { sections: [createSection('MCP servers', list.element, note, reload)], refresh: list.refresh }
}

/** @param {import('./views.js').ViewContext} context */
function createEnvironment({ api }) {
  const facts = h('dl', { class: 'agent-facts' })
  return { sections: [createSection('Environment', facts)], refresh }

  async function refresh() {
    const { backend, cwd, sandbox, reason } = await api.request('/api/environment')
    /** @type {readonly (readonly [string, string])[]} */
    const rows = [
      ['Commands run in', backend === 'local' ? 'this machine' : backend],
      ['Folder', cwd],
      ['Sandbox', sandbox === 'none' ? `none. ${reason}` : sandbox],
    ]
    facts.replaceChildren(...rows.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]))
  }
}
