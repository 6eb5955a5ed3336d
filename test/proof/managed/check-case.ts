/**
 * Checks the observations of a random managed call against the expected result.
 */
import assert from 'node:assert/strict'
import type { ManagedEvent } from '../../../src/middleware/contract.ts'
import type { Case } from './case.ts'
import { type ExpectedResult, expectedResultOf } from './expected-result.ts'
import { type ObservedCall, runCase } from './run-case.ts'

/** Rejects with the difference. */
export async function checkCase(randomCase: Case): Promise<void> {
  const expected = expectedResultOf(randomCase)
  const observed = await runCase(randomCase)
  assert.equal(observed.openStreams, 0, 'a stream of the provider was left open')
  assert.equal(observed.unfinishedCollectors, 0, 'a collector was not finished exactly once')
  checkPairs(observed)
  if (observed.aborted) return checkAborted(expected, observed)
  assert.deepEqual(observed.result, expected.result)
  if (expected.mayRunLess) return checkWithin(expected, observed)
  assert.deepEqual(observed.runs, expected.runs, 'the tool or the provider ran')
  assert.deepEqual(observed.chunks, expected.chunks)
  if (randomCase.observed) checkEvents(randomCase, expected, observed)
}

/** An aborted call may run less than expected, and must not end as a success. */
function checkAborted(expected: ExpectedResult, observed: ObservedCall): void {
  checkWithin(expected, observed)
  if (!('value' in observed.result)) return
  // The end of a branch that is not awaited is not specified.
  assert.ok(expected.mayRunLess || !observed.abortHonoured, 'the abort was ignored')
  assert.deepEqual(observed.result, expected.result)
}

/** The tool and the provider ran only with expected requests, and at most as often as expected. */
function checkWithin(expected: ExpectedResult, { runs }: ObservedCall): void {
  const left = [...expected.runs]
  for (const run of runs) {
    const at = left.indexOf(run)
    assert.ok(at >= 0, `the tool or the provider ran once more than it may: ${run}`)
    left.splice(at, 1)
  }
}

/** Each start event has one later end event with the same parent, and events inside a tool are children of its call. */
function checkPairs({ events, parent }: ObservedCall): void {
  const starts = new Map<string, ManagedEvent>()
  const ended = new Set<string>()
  for (const event of events) {
    if (event.scope_category === 'start') {
      assert.ok(!starts.has(event.uuid), 'a start event was published twice')
      starts.set(event.uuid, event)
    }
    if (event.scope_category === 'end') {
      const start = starts.get(event.uuid)
      assert.ok(start !== undefined && !ended.has(event.uuid), 'an end event without a start event, or a second one')
      ended.add(event.uuid)
      assert.ok(event.timestampUs > start.timestampUs, 'an end event that is not later than its start event')
      assert.equal(event.parent_uuid, start.parent_uuid)
      assert.equal(event.name, start.name)
    }
    const inside = event.name === 'inside' && event.parent_uuid !== null
    if (inside)
      assert.equal(starts.get(event.parent_uuid ?? '')?.name, 'tool', 'a scope inside a tool is not its child')
    else if (event.name !== 'around') assert.equal(event.parent_uuid, parent)
  }
  assert.equal(ended.size, starts.size, 'a start event without an end event')
}

function checkEvents({ inScope }: Case, { events: counts, runs }: ExpectedResult, { events }: ObservedCall): void {
  const ends = (category: string, name?: string) =>
    events.filter(
      (event) => event.scope_category === 'end' && event.category === category && (name ?? event.name) === event.name,
    )
  const marks = events.filter(({ kind }) => kind === 'mark')
  const rejections = marks.filter(({ data }) => typeof data === 'object' && data !== null && 'rejected' in data)
  assert.equal(ends('guardrail').length, counts.guardrails)
  assert.equal(rejections.length, counts.rejections)
  assert.equal(marks.length - rejections.length, counts.failedRequests)
  assert.equal(ends('function', 'around').length, inScope ? 1 : 0)
  const [call, ...more] = events.filter(({ scope_category, name }) => scope_category === 'end' && name === 'tool')
  assert.equal(more.length, 0)
  assert.equal(call?.metadata?.['otel.status_code'], counts.call)
  const isTool = call?.category === 'tool'
  assert.equal(ends('function', 'inside').length, isTool ? runs.length : 0)
}
