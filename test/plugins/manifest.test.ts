/**
 * plugin.yaml: what is understood, what is refused and where, what is only remarked on.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePluginManifest } from '../../src/plugins/manifest.ts'
import { toJsonValue } from '../kit/to-json-value.ts'

const rules = { directoryName: 'mine' }

/** `plugin.yaml:1:7: name: …` → `plugin.yaml:1:7: name` */
const locationOf = (issue: string) => issue.split(': ', 2).join(': ')

test('a manifest with every field of the contract is parsed', () => {
  const check = parsePluginManifest(
    `name: Router
version: 1.2
description: Sends hard questions to a large model
author: Ada
manifest_version: 2
kind: backend
requires_env: [API_KEY, {name: OTHER_KEY, description: why}]
optional_env: MORE
provides_tools: [ask]
provides_hooks: pre_llm_call
requires_plugins: [otel, {id: observability/metrics, version_range: '>=2'}]
requires_hermes: '>=0.19'
python_dependencies: [requests]
tags: [a, b]
license: MIT
emits: []
depends: {}
config_schema:
  threshold: {type: number, default: 0.5, description: when}
  key: {type: string, required: true}
`,
    'plugin.yaml',
    rules,
  )
  assert.ok(check.ok)
  assert.deepEqual(check.warnings, [])
  assert.deepEqual(toJsonValue(check.manifest), {
    name: 'Router',
    version: '1.2',
    description: 'Sends hard questions to a large model',
    author: 'Ada',
    kind: 'backend',
    providesTools: ['ask'],
    requiresEnv: ['API_KEY', 'OTHER_KEY'],
    optionalEnv: ['MORE'],
    providesHooks: ['pre_llm_call'],
    requiresPlugins: [{ id: 'otel' }, { id: 'observability/metrics', range: '>=2' }],
    requiresHermes: '>=0.19',
    configSchema: {
      threshold: { type: 'number', default: 0.5, description: 'when', required: false },
      key: { type: 'string', description: '', required: true },
    },
  })
})

test('a manifest without a name uses the name of its folder', () => {
  const check = parsePluginManifest('description:\n', 'plugin.yaml', rules)
  assert.ok(check.ok)
  assert.deepEqual([check.manifest.name, check.manifest.version, check.manifest.kind], ['mine', '0.0.0', 'standalone'])
})

test('all issues of a manifest are reported at once, with file, line and column', () => {
  const text =
    'name: [x]\nversion: {}\nkind: strange\nrequires_env: ["no good"]\nrequires_plugins: [{version_range: 1}]\n'
  const check = parsePluginManifest(text, '/p/plugin.yaml', rules)
  assert.ok(!check.ok)
  assert.deepEqual(check.issues.map(locationOf), [
    '/p/plugin.yaml:1:7: name',
    '/p/plugin.yaml:2:10: version',
    '/p/plugin.yaml:3:7: kind',
    '/p/plugin.yaml:4:16: requires_env.0',
    '/p/plugin.yaml:5:20: requires_plugins.0',
  ])
})

test('a manifest that is not YAML or not a mapping is rejected', () => {
  for (const text of ['- a\n', '', 'name: x\n  bad: [', 'text']) {
    const check = parsePluginManifest(text, 'plugin.yaml', rules)
    assert.equal(check.ok, false, JSON.stringify(text))
  }
})

test('a manifest with exponential aliases or extreme nesting is rejected', () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]
d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n`
  for (const text of [bomb, '['.repeat(50_000)]) {
    const check = parsePluginManifest(text, 'plugin.yaml', rules)
    assert.ok(!check.ok)
    assert.match(check.issues.join(), /alias|nested/)
  }
})

test('unknown fields cause a warning in version 2 of manifests and are ignored in version 1', () => {
  const first = parsePluginManifest('name: a\nstrange: 1\n', 'plugin.yaml', rules)
  assert.ok(first.ok)
  assert.deepEqual(first.warnings, [])
  const second = parsePluginManifest('name: a\nmanifest_version: 2\nstrange: 1\n', 'plugin.yaml', rules)
  assert.ok(second.ok)
  assert.equal(second.warnings.length, 1)
  assert.match(second.warnings[0] ?? '', /^plugin\.yaml:3:1: .*\bstrange\b/)
})
