/**
 * Checks the observations of a random managed call against the expected result.
 */
import assert from 'node:assert/strict'
import type { ManagedEvent } from '../../../src/middleware/contract.ts'
import type { Case } from './case.ts'
import { type Expected, expectedOf } from './rules.ts'
import { type Played, play } from './stage.ts'

/** Rejects with the difference. */
export async function holds(made: Case): Promise<void> {
  const expected = expectedOf(made)
  const played = await play(made)
  assert.equal(played.leftOpen, 0, 'a stream of the provider was left open')
  assert.equal(played.unfinished, 0, 'a collector was not finished exactly once')
  checkPairs(played)
  if (played.aborted) return checkAborted(expected, played)
  assert.deepEqual(played.outcome, expected.outcome)
  if (expected.loose) return checkWithin(expected, played)
  assert.deepEqual(played.runs, expected.runs, 'the tool or the provider ran')
  assert.deepEqual(played.chunks, expected.chunks)
  if (made.observed) checkTold(made, expected, played)
}

/** An aborted call may run less than expected, and must not end as a success. */
function checkAborted(expected: Expected, played: Played): void {
  checkWithin(expected, played)
  if (!('value' in played.outcome)) return
  // The end of a branch that is not awaited is not specified.
  assert.ok(expected.loose || !played.obeyed, 'a stop was swallowed')
  assert.deepEqual(played.outcome, expected.outcome)
}

/** The tool and the provider ran only with expected requests, and at most as often as expected. */
function checkWithin(expected: Expected, { runs }: Played): void {
  const left = [...expected.runs]
  for (const run of runs) {
    const at = left.indexOf(run)
    assert.ok(at >= 0, `the tool or the provider ran once more than it may: ${run}`)
    left.splice(at, 1)
  }
}

/** Each start event has one later end event with the same parent, and events inside a tool are children of its call. */
function checkPairs({ events, parent }: Played): void {
  const starts = new Map<string, ManagedEvent>()
  const ended = new Set<string>()
  for (const event of events) {
    if (event.scope_category === 'start') {
      assert.ok(!starts.has(event.uuid), 'a start was told twice')
      starts.set(event.uuid, event)
    }
    if (event.scope_category === 'end') {
      const start = starts.get(event.uuid)
      assert.ok(start !== undefined && !ended.has(event.uuid), 'an end without a start, or a second one')
      ended.add(event.uuid)
      assert.ok(event.timestampUs > start.timestampUs, 'an end that is not later than its start')
      assert.equal(event.parent_uuid, start.parent_uuid)
      assert.equal(event.name, start.name)
    }
    const inside = event.name === 'inside' && event.parent_uuid !== null
    if (inside) assert.equal(starts.get(event.parent_uuid ?? '')?.name, 'tool', 'what a tool does is not its child')
    else if (event.name !== 'around') assert.equal(event.parent_uuid, parent)
  }
  assert.equal(ended.size, starts.size, 'a start without an end')
}

function checkTold({ inScope }: Case, { told, runs }: Expected, { events }: Played): void {
  const ends = (category: string, name?: string) =>
    events.filter(
      (event) => event.scope_category === 'end' && event.category === category && (name ?? event.name) === event.name,
    )
  const marks = events.filter(({ kind }) => kind === 'mark')
  const refusals = marks.filter(({ data }) => typeof data === 'object' && data !== null && 'rejected' in data)
  assert.equal(ends('guardrail').length, told.guardrails)
  assert.equal(refusals.length, told.refusals)
  assert.equal(marks.length - refusals.length, told.failedRequests)
  assert.equal(ends('function', 'around').length, inScope ? 1 : 0)
  const [call, ...more] = events.filter(({ scope_category, name }) => scope_category === 'end' && name === 'tool')
  assert.equal(more.length, 0)
  assert.equal(call?.metadata?.['otel.status_code'], told.call)
  const isTool = call?.category === 'tool'
  assert.equal(ends('function', 'inside').length, isTool ? runs.length : 0)
}
