import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { diffCount, summarizeResult } from '../../../src/agent/support/result-json.ts'
import { withFacts } from '../../../src/agent/tools/built-in-tools.ts'
import { readFileTool as readFile } from '../../../src/agent/tools/read-file.ts'
import { bindTool } from '../../../src/agent/tools/registry.ts'
import { createSessionSearchTool } from '../../../src/agent/tools/session-search.ts'
import { todoTool as todo } from '../../../src/agent/tools/todo.ts'
import type { ToolCode, ToolDefinition } from '../../../src/agent/tools/tool.ts'
import { createWebExtractTool } from '../../../src/agent/tools/web-extract.ts'
import { createWriteFileTool } from '../../../src/agent/tools/write-file.ts'

const sessionSearch = createSessionSearchTool({})
const webExtract = createWebExtractTool({})
const writeFile = createWriteFileTool({})

function summaryOf(tool: ToolCode | ToolDefinition, args: object, result: unknown): string {
  const parsed = bindTool('toolset' in tool ? tool : withFacts(tool)).parse(JSON.stringify(args))
  assert.ok(parsed.ok)
  return parsed.call.summarize(JSON.stringify(result))
}

test('built-in tools sum up their results', () => {
  const read = { content: '1|a', total_lines: 90 }
  assert.equal(summaryOf(readFile, { path: 'a' }, read), '90 lines')
  assert.equal(summaryOf(readFile, { path: 'a', offset: 5 }, { ...read, next_offset: 11 }), 'lines 5-10 of 90')
  assert.equal(summaryOf(writeFile, { path: 'a', content: 'x\ny\n' }, { created: true }), 'created, 2 lines')
  assert.equal(
    summaryOf(
      writeFile,
      { path: 'a', content: 'x' },
      { created: false, diff: '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-y\n+x\n' },
    ),
    '+1 -1',
  )
  const todos = [{ id: '1', content: 'Write', status: 'in_progress' }]
  assert.equal(summaryOf(todo, {}, { todos, summary: '0 of 1 done' }), '0 of 1 done: Write')
  const results = [{ title: 'One', error: 'gone' }, { title: 'Two' }]
  assert.equal(summaryOf(webExtract, { urls: ['https://a.org', 'https://b.org'] }, { results }), '2 pages, 1 not read')
  assert.equal(summaryOf(sessionSearch, { query: 'x' }, { results: [] }), '0 conversations')
})

test('the result of any other tool is summed up by its fields', () => {
  assert.equal(summarizeResult('{"count":3,"ok":true,"rows":[1,2]}'), 'rows: 2, count: 3, ok: true')
  assert.equal(summarizeResult('{"success":true,"message":"Saved.\\nTwice."}'), 'Saved. (2 lines)')
  assert.equal(summarizeResult('[1,2,3]'), '3 items')
  assert.equal(summarizeResult('\n plain text\nmore'), 'plain text (3 lines)')
  assert.equal(summarizeResult('{"output": "cut in the mid'), '26 characters')
  assert.equal(summarizeResult('{}'), '')
})

test('a summary that throws, or that is none, is replaced', () => {
  const tool = (summarize: () => string): ToolDefinition => ({
    ...{ name: 'x', toolset: 'x', description: '', parameters: z.object({}), mode: 'pure', summarize },
    run: async () => '{}',
  })
  const broken = tool(() => {
    throw new Error('no')
  })
  assert.equal(summaryOf(broken, {}, { message: 'Done.' }), 'Done.')
  const none = tool(() => '')
  assert.equal(summaryOf(none, {}, { message: 'Done.' }), 'Done.')
  // @ts-expect-error Plugins may be written without types.
  const untyped = tool(() => 7)
  assert.equal(summaryOf(untyped, {}, { message: 'Done.' }), 'Done.')
})

test('a diff that was cut is not counted', () => {
  assert.equal(diffCount('--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n+c\n'), '+2 -1')
  assert.equal(diffCount('--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n[9 lines left out]\n'), '')
})
