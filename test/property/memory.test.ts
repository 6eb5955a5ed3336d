import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { MemoryAction, MemoryOperation } from '../../src/agent/memory/contract.ts'
import { countChars, formatEntries, parseEntries } from '../../src/agent/memory/entries.ts'
import { createMemoryStore } from '../../src/agent/memory/memory-store.ts'
import { applyOperations } from '../../src/agent/memory/operations.ts'
import { createTestMemory } from '../agent/memory/support.ts'

/** Texts with everything that the format uses. */
const text = fc
  .array(fc.oneof(fc.constantFrom('§', '\n', '\n§\n', '\r\n', ' ', '\u2028', '\uFEFF', '😀', 'a', 'b'), fc.string()), {
    maxLength: 12,
  })
  .map((parts) => parts.join(''))

test('what is written is what is read again, whatever a file contains', () => {
  fc.assert(
    fc.property(text, (file) => {
      const entries = parseEntries(file)
      assert.deepEqual(parseEntries(formatEntries(entries)), entries)
      for (const entry of entries) assert.equal(entry, entry.trim())
    }),
  )
})

const operation: fc.Arbitrary<MemoryOperation> = fc.record({
  action: fc.constantFrom('add', 'replace', 'remove'),
  content: text,
  old_text: fc.constantFrom('a', 'b', '😀', 'ab', '§'),
})

test('any operations give a file with the same entries and within the limit, and lose no entry that they do not name', () => {
  fc.assert(
    fc.property(
      text,
      fc.array(operation, { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      (file, operations, archives) => {
        const current = parseEntries(file)
        const limit = 40
        const applied = applyOperations(current, operations, { limit, archives })
        if (!applied.ok) return
        const { entries, changes, archived } = applied
        assert.deepEqual(parseEntries(formatEntries(entries)), entries)
        const [before, after] = [current, entries].map((list) => countChars(formatEntries(list)))
        assert.ok(Number(after) <= Math.max(limit, Number(before)))
        const touched = changes.filter(({ action }) => action !== 'add').length
        const gone = current.filter((entry) => !entries.includes(entry) && !archived.includes(entry))
        assert.ok(gone.length <= touched, `${gone.length} entries are gone after ${touched} changes`)
      },
    ),
  )
})

/** What one writer does with the entry of this number. */
const step = fc.record({
  action: fc.constantFrom('add', 'replace', 'remove'),
  entry: fc.integer({ min: 0, max: 3 }),
})

test('two writers of the same file lose nothing, whatever they add, replace and remove', async (t) => {
  const memory = await createTestMemory(t)
  const { signal } = new AbortController()
  // Their queues are separate, as those of two processes.
  const createWriter = () => createMemoryStore({ ...memory.deps, clock: () => 0, holdsSecret: () => false })
  const writers = [createWriter(), createWriter()]

  /** Resolves with the entries of this writer that must be in the file. */
  async function run(writer: number, steps: readonly { action: MemoryAction; entry: number }[]): Promise<string[]> {
    const own = new Map<number, string>()
    for (const [at, { action, entry }] of steps.entries()) {
      const known = own.get(entry)
      const content = `${writer}/${entry}/${at}.`
      if ((action === 'add') !== (known === undefined)) continue
      const result = await writers[writer]?.write(
        { target: 'memory', operations: [{ action, content, old_text: known }] },
        signal,
      )
      assert.equal(result?.ok, true)
      if (action === 'remove') own.delete(entry)
      else own.set(entry, content)
    }
    return [...own.values()]
  }

  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), fc.array(step, { maxLength: 8 }), async (one, other) => {
      memory.edit('')
      const expected = (await Promise.all([run(0, one), run(1, other)])).flat()
      assert.deepEqual(parseEntries(memory.text()).sort(), expected.sort())
    }),
    { numRuns: 10 },
  )
})
