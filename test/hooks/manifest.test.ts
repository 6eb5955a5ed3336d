import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseHookManifest } from '../../src/hooks/manifest.ts'
import { toJsonValue } from '../kit/to-json-value.ts'

function parse(text: string) {
  return parseHookManifest(text, 'HOOK.yaml', {
    folder: 'my-hook',
    eventIssue: (event) => (event === 'agent:ended' ? 'no such event' : undefined),
  })
}

function issuesIn(text: string): readonly string[] {
  const check = parse(text)
  assert.ok(!check.ok, 'it was accepted')
  return check.issues
}

test('omitted keys of a manifest have defaults; the name is that of the folder', () => {
  const check = parse('events: [agent:start]\n')
  assert.deepEqual(toJsonValue(check), {
    ok: true,
    manifest: { name: 'my-hook', description: '', events: ['agent:start'], enabled: true, priority: 0 },
    warnings: [],
  })
})

test('every known key is read and unknown keys are ignored', () => {
  const check = parse(
    'name: Long Task\ndescription: d\nevents: agent:end\nenabled: false\ntimeout_ms: 250\nenv: SLACK_URL\npriority: -3\nrequires_file: notes/BOOT.md\nauthor: me\n',
  )
  assert.deepEqual(check.ok && check.manifest, {
    name: 'Long Task',
    description: 'd',
    events: ['agent:end'],
    enabled: false,
    priority: -3,
    timeoutMs: 250,
    env: ['SLACK_URL'],
    requiresFile: 'notes/BOOT.md',
  })
})

test('all issues are reported at once with line and column, in the order of the file', () => {
  assert.deepEqual(issuesIn('events:\n  - agent:start\n  - 7\nenabled: maybe\ntimeout_ms: 0\nenv: [A-B]\n'), [
    'HOOK.yaml:3:5: events.1: expected text, found 7',
    'HOOK.yaml:4:10: enabled: expected true or false, found "maybe"',
    'HOOK.yaml:5:13: timeout_ms: expected a number above 0, found 0',
    'HOOK.yaml:6:7: env.0: expected the name of a variable, found "A-B"',
  ])
})

test('a manifest without events or that is no mapping is rejected with the expected form', () => {
  assert.match(String(issuesIn('name: x\n')), /^HOOK\.yaml:1:1: events: expected .*, found nothing$/)
  assert.match(String(issuesIn('name: x\nevents: []\n')), /^HOOK\.yaml:2:9: events: /)
  assert.match(String(issuesIn('- a\n')), /^HOOK\.yaml:1:1: .*\bname, description.*\bevents, found a list$/)
  assert.match(String(issuesIn('')), /^HOOK\.yaml:1:1: .*\bname, description.*\bevents, found nothing$/)
})

test('a name that is a path is replaced with that of the folder, and files outside the home are rejected', () => {
  for (const name of ['..', '.', '../x', 'a\\b', '/etc', '"a\\0b"', "''", '[a]']) {
    const check = parse(`name: ${name}\nevents: [x:y]\n`)
    assert.ok(check.ok, name)
    assert.deepEqual([check.manifest.name, check.warnings.length], ['my-hook', 1], name)
  }
  for (const file of ['/etc/passwd', '../secrets', 'a/../../b', '..']) {
    assert.match(String(issuesIn(`events: [x:y]\nrequires_file: ${file}\n`)), /^HOOK\.yaml:2:16: requires_file: /, file)
  }
})

test('odd values of keys that a hook can do without, and unknown keys, are warnings', () => {
  const check = parse(
    'name: 7\nevents: [x:y]\nenabled: maybe\npriority: high\ntimeout_ms: soon\ndescription: [d]\nprioritty: 3\nversion: 1\n',
  )
  assert.ok(check.ok)
  assert.deepEqual(toJsonValue(check.manifest), {
    name: '7',
    description: '',
    events: ['x:y'],
    enabled: true,
    priority: 0,
  })
  const places = check.warnings.map((warning) => warning.split(':').slice(1, 3).map(Number))
  assert.deepEqual(places, [
    [3, 10],
    [4, 11],
    [5, 13],
    [6, 14],
    [7, 12],
  ])
  const words = parse('events: [x:y]\nenabled: off\npriority: "12"\n')
  assert.deepEqual(words.ok && [words.manifest.enabled, words.manifest.priority, words.warnings], [false, 12, []])
})

test('invalid YAML and YAML bombs are reported with their location', () => {
  assert.match(String(issuesIn('events: [a\nname: b: c\n')), /^HOOK\.yaml:\d+:\d+: /)
  const bomb = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
  for (let level = 1; level < 9; level++) bomb.push(`a${level}: &a${level} [${`*a${level - 1}, `.repeat(9)}]`)
  assert.match(String(issuesIn(`${bomb.join('\n')}\nevents: [a:b]\n`)), /too many values/)
  assert.match(String(issuesIn(`events: ${'['.repeat(100)}`)), /^HOOK\.yaml:1:\d+: .*deep/)
})

test('only the first fifty of a thousand issues are reported', () => {
  const wrong = `events: agent:start\nenv:\n${'  - 1\n'.repeat(1_000)}`
  const found = issuesIn(wrong)
  assert.equal(found.length, 50)
  assert.match(found[0] ?? '', /^HOOK\.yaml:3:5: env\.0: /)
})

test('unknown and duplicate events produce warnings', () => {
  const check = parse('events:\n  - agent:ended\n  - agent:end\n  - agent:end\n')
  assert.deepEqual(check.ok && check.warnings, [
    'HOOK.yaml:2:5: no such event',
    'HOOK.yaml:4:5: agent:end is listed twice and is handled twice',
  ])
})
