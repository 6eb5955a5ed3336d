import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routeSdkWarnings } from '../../../src/agent/mcp/sdk-warnings.ts'

function createConsole() {
  const lines: unknown[][] = []
  return { lines, warn: (...values: unknown[]) => void lines.push(values) }
}

test('warnings of the SDK go where they are routed, and other lines to the console', () => {
  const console = createConsole()
  const original = console.warn
  const warnings: string[] = []
  const stop = routeSdkWarnings(console, (text) => warnings.push(text))
  console.warn('[mcp-sdk] excluding tool %s', 'look')
  console.warn('a line of a plugin', 1)
  stop()
  console.warn('[mcp-sdk] later')
  assert.deepEqual(warnings, ['excluding tool look'])
  assert.deepEqual(console.lines, [['a line of a plugin', 1], ['[mcp-sdk] later']])
  assert.equal(console.warn, original)
})

test('two gateways of one process may stop in any order', () => {
  const console = createConsole()
  const [first, second]: [string[], string[]] = [[], []]
  const stopFirst = routeSdkWarnings(console, (text) => first.push(text))
  const stopSecond = routeSdkWarnings(console, (text) => second.push(text))
  stopFirst()
  console.warn('[mcp-sdk] one')
  stopSecond()
  console.warn('[mcp-sdk] two')
  assert.deepEqual([first, second, console.lines], [[], ['one'], [['[mcp-sdk] two']]])
})
