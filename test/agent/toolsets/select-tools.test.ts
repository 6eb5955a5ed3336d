/**
 * Which tools a list of toolsets selects.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findUnknownEntries, selectDisabledTools, selectTools } from '../../../src/agent/toolsets/select-tools.ts'
import { toolsets } from '../../../src/agent/toolsets/toolsets.ts'

const tools = [
  { name: 'clarify', toolset: 'clarify' },
  { name: 'patch', toolset: 'file' },
  { name: 'process', toolset: 'terminal' },
  { name: 'read_file', toolset: 'file' },
  { name: 'terminal', toolset: 'terminal' },
  { name: 'web_search', toolset: 'web' },
  { name: 'weather', toolset: 'outdoors' },
  { name: 'tides', toolset: 'outdoors' },
  { name: 'read_pdf', toolset: 'file' },
]

const selections: readonly [list: readonly string[], selected: readonly string[]][] = [
  [[], []],
  [['all'], tools.map(({ name }) => name)],
  [
    ['*', '-outdoors'],
    ['clarify', 'patch', 'process', 'read_file', 'terminal', 'web_search', 'read_pdf'],
  ],
  [['file'], ['patch', 'read_file', 'read_pdf']],
  [
    ['-patch', 'file', 'weather'],
    ['read_file', 'weather', 'read_pdf'],
  ],
  [['debugging'], ['patch', 'process', 'read_file', 'terminal', 'web_search', 'read_pdf']],
  [['safe'], ['web_search']],
  [
    ['outdoors', 'clarify'],
    ['clarify', 'weather', 'tides'],
  ],
  [['hermes-telegram'], tools.map(({ name }) => name)],
  [
    ['hermes-telegram', '-terminal'],
    tools.map(({ name }) => name).filter((name) => name !== 'terminal' && name !== 'process'),
  ],
  [['hermes-webhook'], ['clarify', 'web_search']],
  [['hermes-api-server'], tools.map(({ name }) => name).filter((name) => name !== 'clarify')],
  [['garden'], ['web_search', 'weather', 'tides']],
  [['endless'], ['clarify']],
  [['no_such_toolset'], []],
]
const custom = { garden: ['outdoors', 'search'], endless: ['endless', 'clarify'] }

for (const [list, selected] of selections)
  test(`the toolsets [${list.join(', ')}] select the right tools`, () => {
    assert.deepEqual([...selectTools(list, tools, custom)].sort(), [...selected].sort())
  })

test('an optional tool is selected only where a list names it, and every list can take it away', () => {
  const withBrowser = [...tools, { name: 'browser_navigate', toolset: 'browser', isOptional: true }]
  const selects = (...list: readonly string[]) =>
    selectTools(list, withBrowser, { desk: ['file', 'browser'] }).has('browser_navigate')
  for (const list of [['all'], ['*'], ['hermes-telegram'], ['coding'], ['all', 'browser', '-all']])
    assert.equal(selects(...list), false, list.join())
  for (const list of [['all', 'browser'], ['browser_navigate'], ['desk']])
    assert.equal(selects(...list), true, list.join())
  for (const entry of ['browser', 'browser_navigate', 'all', '*'])
    assert.ok(selectDisabledTools([entry], withBrowser, {}).has('browser_navigate'), entry)
})

test('a disabled toolset takes its tools away, but that of a platform shares them with the others', () => {
  assert.deepEqual([...selectDisabledTools(['terminal', 'hermes-cli', 'weather'], tools, custom)].sort(), [
    'process',
    'terminal',
    'weather',
  ])
})

test('a name that is no toolset and no tool is found, with the most similar one', () => {
  assert.deepEqual(
    findUnknownEntries(['-termnal', 'web', 'garden', 'hermes-matrix', 'no_mcp', 'xyzzy'], tools, custom),
    [
      { name: 'termnal', nearest: 'terminal' },
      { name: 'xyzzy', nearest: null },
    ],
  )
})

test('every toolset that another one includes exists', () => {
  for (const { includes } of Object.values(toolsets))
    for (const name of includes) assert.ok(Object.hasOwn(toolsets, name), name)
})
