/**
 * What a plugin is told, and what is remarked on about it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fields } from '../../src/middleware/contract.ts'
import { createPluginConfig, settingIssues } from '../../src/plugins/plugin-config.ts'

const options = {
  limit: { type: 'integer', default: 5, description: '', required: false },
  key: { type: 'string', description: '', required: true },
  tags: { type: 'list', default: ['a'], description: '', required: false },
  odd: { type: 'colour', description: '', required: false },
}

test('what is not set has the default of the manifest; changes are seen at the next look', () => {
  let settings: Fields = { limit: 7 }
  const config = createPluginConfig(options, () => settings)
  assert.deepEqual(config.all, { limit: 7, tags: ['a'] })
  assert.equal(config.get('key'), undefined)
  assert.equal(config.get('toString'), undefined)
  settings = { key: 'k' }
  assert.deepEqual([config.get('limit'), config.get('key')], [5, 'k'])
})

test('what a plugin does to its settings changes nothing for anybody else', () => {
  const settings: Fields = { nested: { list: [1] } }
  const one = createPluginConfig(options, () => settings)
  const nested = one.get('nested')
  assert.ok(typeof nested === 'object' && nested !== null)
  Reflect.set(nested, 'list', 'changed')
  assert.deepEqual(settings, { nested: { list: [1] } })
  assert.deepEqual(options.tags.default, ['a'])
  assert.deepEqual(createPluginConfig(options, () => settings).get('nested'), { list: [1] })
})

test('settings that do not match the manifest cause warnings only', () => {
  assert.deepEqual(settingIssues(options, { limit: 1.5, tags: 'a', odd: 1, other: true }), [
    'settings.limit: expected a value of type integer',
    'settings.key is required but not set',
    'settings.tags: expected a value of type list',
  ])
  assert.deepEqual(settingIssues(options, { key: 'k', limit: null }), [])
})

test('a type that every object knows something of is one that is not checked', () => {
  for (const type of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    assert.deepEqual(settingIssues({ odd: { type, description: '', required: false } }, { odd: 1 }), [], type)
  }
})
