import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstDecision } from '../../src/hooks/decision.ts'

test('the first result that decides wins; allow does not decide', () => {
  assert.deepEqual(firstDecision([]), { kind: 'allow' })
  assert.deepEqual(firstDecision([{ decision: 'allow' }, { decision: '' }, {}, { decision: 'deny', message: 'no' }]), {
    kind: 'deny',
    message: 'no',
  })
  assert.deepEqual(firstDecision([{ decision: 'handled' }, { decision: 'deny' }]), { kind: 'handled', message: '' })
})

test('results that are no decisions are skipped', () => {
  assert.deepEqual(firstDecision(['deny', 7, [], true, { decision: 7 }, { decision: 'perhaps' }]), { kind: 'allow' })
  assert.deepEqual(firstDecision([{ decision: 'rewrite' }, { decision: 'rewrite', command_name: ' / ' }]), {
    kind: 'allow',
  })
  assert.deepEqual(firstDecision([{ decision: 'deny', message: { evil: 1 } }]), { kind: 'deny', message: '' })
})

test('decisions ignore case, and a command may have a slash', () => {
  assert.deepEqual(firstDecision([{ decision: ' REWRITE ', command_name: '/status', raw_args: ' now ' }]), {
    kind: 'rewrite',
    command: 'status',
    args: 'now',
  })
  assert.deepEqual(firstDecision([{ decision: 'rewrite', command_name: 'status' }]), {
    kind: 'rewrite',
    command: 'status',
    args: undefined,
  })
})
