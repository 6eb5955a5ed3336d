import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseHookManifest } from '../../src/hooks/manifest.ts'
import { createManifestReader } from '../../src/hooks/manifest-cache.ts'
import { silentLog } from '../../src/lib/log.ts'
import { tempHome } from '../kit/temp-home.ts'
import { toJsonValue } from '../kit/to-json-value.ts'
import { createTestHooks, hookYaml, sendingHandler } from './support.ts'

const full = `name: everything
description: as it was written
events: [agent:start, 'command:*']
enabled: false
timeout_ms: 70
env: [TOKEN]
priority: -3
requires_file: BOOT.md
`
const rules = { folder: 'folder', eventIssue: (event: string) => (event === 'agent:odd' ? 'odd' : undefined) }

/** A file in which everything that was read has another description: who gives that one has not parsed. */
function keptFile(t: TestContext, ...texts: string[]): string {
  const file = join(tempHome(t), 'cache', 'hooks.json')
  const reader = createManifestReader(file, silentLog)
  for (const text of texts) reader.read(text, 'HOOK.yaml', rules)
  reader.save()
  const kept = readFileSync(file, 'utf8')
  writeFileSync(file, kept.replaceAll('"description":"as it was written"', '"description":"as it was kept"'))
  return file
}

function descriptionIn(file: string, text: string, folder = 'folder'): string {
  const check = createManifestReader(file, silentLog).read(text, 'HOOK.yaml', { ...rules, folder })
  return check.ok ? check.manifest.description : assert.fail(check.issues.join())
}

test('a cached manifest is not parsed again and has the same content', (t) => {
  const file = join(tempHome(t), 'cache', 'hooks.json')
  const plain = 'events: agent:end\n'
  const first = createManifestReader(file, silentLog)
  const checks = [full, plain].map((text) => first.read(text, 'HOOK.yaml', rules))
  first.save()
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const second = createManifestReader(file, silentLog)
  assert.deepEqual(
    [full, plain].map((text) => second.read(text, 'HOOK.yaml', rules)),
    toJsonValue(checks),
  )
  assert.deepEqual(checks[0], parseHookManifest(full, 'HOOK.yaml', rules))
  assert.equal(descriptionIn(keptFile(t, full), full), 'as it was kept')
})

test('a cache entry is valid only for the same text and directory', (t) => {
  const file = keptFile(t, full)
  assert.equal(descriptionIn(file, `${full}# more\n`), 'as it was written')
  assert.equal(descriptionIn(file, full, 'another'), 'as it was written')
})

test('another version of the parser or an invalid cache file leads to parsing', (t) => {
  const file = keptFile(t, full)
  const kept = readFileSync(file, 'utf8')
  for (const text of [
    kept.replace(/"readBy":"\d+/, '"readBy":"1'),
    '{"readBy"',
    '[]',
    'null',
    kept.replace('"enabled":false', '"enabled":"no"'),
    kept.replace('["agent:start","command:*"]', '[7]'),
    kept.replace('"manifests":[', '"manifests":[7,null,{"folder":"folder"},'),
  ]) {
    writeFileSync(file, text)
    const expected = text.includes('[7,null') ? 'as it was kept' : 'as it was written'
    assert.equal(descriptionIn(file, full), expected, text)
  }
})

test('warnings and issues of manifests are reported at every start', (t) => {
  const odd = `${full.replace('agent:start', 'agent:odd')}`
  const file = keptFile(t, full, odd, 'events: []\n')
  for (const text of [odd, 'events: []\n']) {
    const reader = createManifestReader(file, silentLog)
    assert.deepEqual(reader.read(text, 'HOOK.yaml', rules), parseHookManifest(text, 'HOOK.yaml', rules))
  }
  const doubtful = { ...rules, eventIssue: () => 'no longer emitted' }
  const check = createManifestReader(keptFile(t, full), silentLog).read(full, 'HOOK.yaml', doubtful)
  assert.deepEqual(check, parseHookManifest(full, 'HOOK.yaml', doubtful))
})

test('a cache that cannot be written is only logged', (t) => {
  const home = tempHome(t)
  writeFileSync(join(home, 'cache'), 'a file where a folder should be')
  const warnings: string[] = []
  const log = { ...silentLog, warn: (_fields: object, text: string) => void warnings.push(text) }
  const reader = createManifestReader(join(home, 'cache', 'hooks.json'), log)
  assert.equal(reader.read(full, 'HOOK.yaml', rules).ok, true)
  reader.save()
  assert.equal(warnings.length, 1)
})

test('removed hooks are removed from the cache', (t) => {
  const file = keptFile(t, full, 'events: agent:end\n')
  const reader = createManifestReader(file, silentLog)
  reader.read(full, 'HOOK.yaml', rules)
  reader.save()
  const kept = readFileSync(file, 'utf8')
  assert.deepEqual([kept.includes('command:*'), kept.includes('agent:end')], [true, false])
})

test('a gateway that watches its hooks writes the cache; a command does not', (t) => {
  const hooks = createTestHooks(t, {
    files: { 'a/HOOK.yaml': hookYaml(['agent:start']), 'a/handler.js': sendingHandler() },
  })
  const file = join(hooks.home, 'cache', 'hooks.json')
  hooks.registry.discoverAndLoad()
  assert.equal(existsSync(file), false)
  hooks.registry.watch()
  assert.match(readFileSync(file, 'utf8'), /"folder":"a"/)
})
