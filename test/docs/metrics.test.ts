import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { textOf } from './repository.ts'

const reference = textOf('docs/reference/metrics.md')

for (const file of ['hermes-dashboard.json', 'hermes-alerts.yaml']) {
  test(`${file} uses only metrics of the reference`, () => {
    const text = textOf(`docs/how-to/monitoring/${file}`)
    parse(text)
    const names = new Set([...text.matchAll(/\b(?:hermes|process|nodejs)_[a-z_]+/g)].map(([name]) => name))
    assert.ok(names.size > 5)
    for (const name of names) assert.ok(reference.includes(`\`${name.replace(/_bucket$/, '')}\``), name)
  })
}
