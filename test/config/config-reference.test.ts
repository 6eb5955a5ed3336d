/**
 * The JSON Schema for editors and the reference page, both generated from the types.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { describeConfig, renderConfigReference } from '../../src/config/config-reference.ts'
import { configJsonSchema } from '../../src/config/json-schema.ts'
import { valueAt } from '../../src/config/tree.ts'
import { environmentBindings, shapes } from './support.ts'

it('the schema contains every key with its type, bounds and description, and allows unknown keys', () => {
  const schema = configJsonSchema(shapes)
  assert.equal(schema['$schema'], 'https://json-schema.org/draft/2020-12/schema')
  assert.equal(typeof schema['title'], 'string')
  assert.deepEqual(valueAt(schema, ['properties', 'http', 'properties', 'port']), {
    default: 8642,
    description: 'The port.',
    type: 'integer',
    minimum: 0,
    maximum: 65_535,
  })
  assert.equal(schema['required'], undefined, 'everything has a default')
  assert.equal(schema['additionalProperties'], undefined)
  assert.doesNotThrow(() => JSON.stringify(schema))
})

it('every value that can be set has a row with type, default and variables', () => {
  const rows = describeConfig(shapes, environmentBindings)
  const row = (path: string) => rows.find((candidate) => candidate.path === path)
  assert.deepEqual(row('http.port'), {
    path: 'http.port',
    type: 'integer, 0 to 65535',
    default: '8642',
    description: 'The port.',
    variables: ['HERMES_HTTP_PORT'],
    secret: false,
  })
  assert.deepEqual(row('platforms.chat.token')?.variables, ['CHAT_BOT_TOKEN', 'CHAT_TOKEN'])
  assert.equal(row('platforms.chat.token')?.secret, true)
  assert.equal(row('platforms.chat.pin')?.secret, true)
  assert.equal(row('provider')?.type, '`openai`, `anthropic`, `demo`')
  assert.equal(row('agent.timeout')?.type, 'number above 0')
  assert.equal(row('http.allowed_hosts')?.type, 'list (string)')
  assert.equal(row('platforms.chat.accounts.<name>.token')?.type, 'string')
  assert.equal(row('plugins.entries')?.type, 'map')
})

it('the page has one table for each section, and no cell breaks its table', () => {
  const page = renderConfigReference([
    ...describeConfig(shapes, environmentBindings),
    { path: 'x.y', type: 'string', default: '"a|b"', description: 'one\ntwo', variables: [], secret: false },
  ])
  assert.match(page, /^# Configuration\n/)
  assert.match(page, /\n## Top level\n\n\| Key \| Type \| Default \| Variable \| Meaning \|\n\|---/)
  for (const section of ['http', 'log', 'agent', 'platforms', 'plugins', 'x'])
    assert.ok(page.includes(`\n## ${section}\n`))
  assert.ok(page.includes('| `http.port` | integer, 0 to 65535 | `8642` | `HERMES_HTTP_PORT` | The port. |'))
  assert.ok(page.includes('| `x.y` | string | `"a\\|b"` |  | one two |'))
  assert.ok(page.endsWith('|\n'))
  for (const line of page.split('\n').filter((text) => text.startsWith('|'))) {
    assert.equal(line.replaceAll('\\|', '').split('|').length, 7, line)
  }
})
