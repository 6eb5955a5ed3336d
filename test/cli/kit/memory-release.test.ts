import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startMemoryRelease } from '../../../src/cli/kit/memory-release.ts'

const megabyte = 2 ** 20

/** A process with a heap of 40 MB. `check` is one check of the heap. */
function startProcess() {
  const state = {
    heap: 40 * megabyte,
    utilization: 0,
    collections: 0,
    check: undefined as (() => void) | undefined,
    stopped: false,
  }
  const stop = startMemoryRelease({
    collect() {
      state.collections += 1
      state.heap = 40 * megabyte
    },
    heapBytes: () => state.heap,
    utilization: () => state.utilization,
    repeat(callback) {
      state.check = callback
      return () => {
        state.stopped = true
      }
    },
  })
  return { state, stop, check: (times = 1) => Array.from({ length: times }, () => state.check?.()) }
}

/** A minute after the start, when the memory that it needed was given back. */
function startedProcess() {
  const running = startProcess()
  running.check(12)
  running.state.collections = 0
  return running
}

describe('the memory of the daemon', () => {
  test('is given back after the start, once it is quiet', () => {
    const { state, check } = startProcess()
    state.utilization = 0.9
    check(3)
    assert.equal(state.collections, 0)
    state.utilization = 0.05
    check(20)
    assert.equal(state.collections, 1)
  })

  test('is given back after a load, once it is quiet', () => {
    const { state, check } = startedProcess()
    state.heap = 70 * megabyte
    state.utilization = 0.9
    check(3)
    assert.equal(state.collections, 0)
    state.utilization = 0.05
    check(3)
    assert.equal(state.collections, 1)
  })

  test('is not collected for a small growth', () => {
    const { state, check } = startedProcess()
    state.heap = 50 * megabyte
    check(20)
    assert.equal(state.collections, 0)
  })

  test('is collected at most once a minute', () => {
    const { state, check } = startedProcess()
    for (let minute = 0; minute < 3; minute++) {
      for (let second = 0; second < 60; second += 5) {
        state.heap = 70 * megabyte
        check()
      }
    }
    assert.equal(state.collections, 3)
  })

  test('is no longer checked after the stop', () => {
    const { state, stop } = startProcess()
    stop()
    assert.equal(state.stopped, true)
  })
})
