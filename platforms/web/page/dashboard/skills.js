/**
 * The skills of the agent: read, written, and installed after the scan was shown.
 */
import { h } from '../dom.js'
import { openDialog, showForm } from './dialogs.js'
import { createCounter, createList, pageOf } from './list.js'
import { createButton, createSection } from './section.js'

/** @typedef {{ name: string, files: string[], warnings: string[], variables: string[] }} ScannedSkill */

const template = `---
name: my-skill
description: One sentence about what it does. Use it when …
---

# My skill

1. What to do first.
`

/** @param {import('./views.js').ViewContext} context */
export function createSkills({ api, signal, say }) {
  const problems = h('div', {})
  const list = createList({
    label: 'Skills',
    load: pageOf(async () => {
      const { skills, problems: all } = await api.request('/api/skills')
      problems.replaceChildren(
        ...all.map((/** @type {any} */ { path, message }) => h('p', { class: 'trouble' }, `${path}: ${message}`)),
      )
      return skills
    }),
    row: ({ name, description, category, origin, version }) => ({
      key: name,
      name,
      facts: [category, origin, version],
      text: description,
      open: () => read(name),
      actions:
        origin === 'home'
          ? [
              { label: 'Edit', act: () => edit(name), problem: 'The skill could not be changed.' },
              {
                label: 'Delete',
                isDanger: true,
                confirm: { title: `Delete ${name}?`, text: 'Its folder is removed.' },
                act: () => api.request('/api/skills', { body: { action: 'delete', name } }),
                problem: 'The skill could not be deleted.',
                said: `${name} is deleted.`,
              },
            ]
          : [],
    }),
    empty: 'There are no skills. A skill tells the agent how to do something, step by step.',
    signal,
    say,
    onCount: (number, isAll) => count(number, isAll),
  })
  const buttons = h(
    'div',
    { class: 'actions' },
    createButton('Write a skill', () => edit(undefined)),
    createButton('Install', install),
  )
  const section = createSection('Skills', problems, list.element, buttons)
  const count = createCounter(section)
  return { sections: [section], refresh: list.refresh }

  /** @param {string} name */
  async function read(name) {
    const skill = await api.request(`/api/skills/${encodeURIComponent(name)}`)
    const { dialog, form } = openDialog(name, () => undefined)
    form.append(
      ...[skill.problem, ...skill.missing]
        .filter((line) => line !== '')
        .map((line) => h('p', { class: 'trouble' }, line)),
      h('pre', { class: 'job-text', tabindex: '0', role: 'region', 'aria-label': 'Instructions' }, skill.text),
      ...(skill.files.length === 0 ? [] : [h('p', { class: 'fine' }, skill.files.join(', '))]),
      h(
        'div',
        { class: 'actions' },
        createButton('Close', () => dialog.close()),
      ),
    )
  }

  /** @param {string | undefined} name */
  async function edit(name) {
    const content = name === undefined ? template : (await api.request(`/api/skills/${encodeURIComponent(name)}`)).text
    await showForm({
      title: name === undefined ? 'Write a skill' : `Change ${name}`,
      text: 'New conversations know it.',
      fields: [
        ...(name === undefined
          ? [
              {
                name: 'name',
                label: 'Name',
                hint: 'Small letters, digits and -; the same as in the text.',
                isRequired: true,
              },
            ]
          : []),
        { name: 'content', label: 'SKILL.md', type: 'area', value: content, isRequired: true },
      ],
      action: 'Save',
      problem: 'The skill could not be stored.',
      async act({ name: typed = '', content: text = '' }) {
        const body = { action: name === undefined ? 'create' : 'edit', name: name ?? typed.trim(), content: text }
        const { warnings } = await api.request('/api/skills', { body })
        say(['The skill is stored.', ...warnings].join(' '))
        await list.refresh()
      },
    })
  }

  async function install() {
    /** @type {{ source: string, skills: ScannedSkill[] } | undefined} */
    let scanned
    await showForm({
      title: 'Install skills',
      text: 'They are read, checked and scanned first; nothing is installed yet.',
      fields: [
        {
          name: 'source',
          label: 'Folder or archive',
          placeholder: '/home/ada/skills/research.tar.gz',
          hint: 'On the machine of the gateway.',
          isRequired: true,
        },
      ],
      action: 'Scan',
      problem: 'It cannot be installed.',
      async act({ source = '' }) {
        scanned = { source, ...(await api.request('/api/skills/scan', { body: { source } })) }
      },
    })
    if (scanned === undefined) return
    const { source, skills } = scanned
    await showForm({
      title: `Install ${skills.map(({ name }) => name).join(', ')}?`,
      text: skills.map(describeScan).join(' '),
      fields: [{ name: 'replace', label: 'Replace a skill of the same name', type: 'switch' }],
      action: 'Install',
      problem: 'Nothing was installed.',
      async act({ replace }) {
        await api.request('/api/skills/install', { body: { source, replace: replace === 'on' } })
        say('The skills are installed.')
        await list.refresh()
      },
    })
  }
}

/** @param {ScannedSkill} skill */
function describeScan({ name, files, warnings, variables }) {
  const facts = [
    `${files.length} files: ${files.join(', ')}.`,
    variables.length === 0 ? '' : `Its commands get ${variables.join(', ')}.`,
    warnings.length === 0 ? 'The scan found nothing.' : warnings.join(' '),
  ]
  return `${name}: ${facts.filter((fact) => fact !== '').join(' ')}`
}
