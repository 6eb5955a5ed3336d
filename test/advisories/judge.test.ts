import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textOf } from '../docs/repository.ts'
import { judgeReport } from './judge.ts'

function report(severity: 'low' | 'moderate' | 'high' | 'critical'): string {
  const counted = { info: 0, low: 0, moderate: 0, high: 0, critical: 0, [severity]: 1, total: 1 }
  const via = [{ title: 'Prototype pollution', url: 'https://advisories.example/1' }, 'other']
  return JSON.stringify({
    auditReportVersion: 2,
    vulnerabilities: { lodash: { name: 'lodash', severity, range: '<5', via, isDirect: false } },
    metadata: { vulnerabilities: counted },
  })
}

test('an advisory of high or critical severity fails, and names the package', () => {
  for (const severity of ['high', 'critical'] as const) {
    const { kind, lines } = judgeReport(report(severity))
    assert.equal(kind, 'refused')
    assert.deepEqual(lines, [`${severity}: lodash <5: Prototype pollution https://advisories.example/1; through other`])
  }
})

test('a lower severity is shown and passes', () => {
  for (const severity of ['low', 'moderate'] as const) {
    const { kind, lines } = judgeReport(report(severity))
    assert.deepEqual([kind, lines.length], ['passed', 1])
  }
})

test('a registry that does not answer, and no network, fail nothing and are said', () => {
  const outputs = [
    '',
    'npm error',
    '{}',
    'null',
    JSON.stringify({ message: '405 Method Not Allowed', statusCode: 405 }),
  ]
  for (const output of outputs) {
    const { kind, lines } = judgeReport(output)
    assert.equal(kind, 'unknown', output)
    assert.match(lines.join(), /not checked/)
  }
})

test('CI asks for advisories on each run and each week', () => {
  assert.match(textOf('.ci/run'), /^npm run advisories$/m)
  const workflow = textOf('.github/workflows/ci.yml')
  assert.match(workflow, /schedule:\n +(?:#.*\n +)?- cron:/)
  assert.match(workflow, /run: \.ci\/run/)
})
