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

test('missing settings have the defaults of the manifest, and changes apply at the next read', () => {
  let settings: Fields = { limit: 7 }
  const config = createPluginConfig(options, () => settings)
  assert.deepEqual(config.all, { limit: 7, tags: ['a'] })
  assert.equal(config.get('key'), undefined)
  assert.equal(config.get('toString'), undefined)
  settings = { key: 'k' }
  assert.deepEqual([config.get('limit'), config.get('key')], [5, 'k'])
})

test('a plugin that modifies its settings object does not change the settings', () => {
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

test('a type named like a property of every object is not checked', () => {
  for (const type of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    assert.deepEqual(settingIssues({ odd: { type, description: '', required: false } }, { odd: 1 }), [], type)
  }
})
