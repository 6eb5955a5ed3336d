/** The V4A format: what is parsed, what a hunk matches, and what a model reads when it does not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { unifiedDiff } from '../../../src/agent/tools/support/unified-diff.ts'
import { applyHunks } from '../../../src/agent/tools/support/v4a/apply.ts'
import { parsePatch } from '../../../src/agent/tools/support/v4a/parse.ts'

function hunksOf(...lines: string[]) {
  const parsed = parsePatch(['*** Begin Patch', '*** Update File: a', ...lines, '*** End Patch'].join('\n'))
  assert.ok(parsed.ok, JSON.stringify(parsed))
  const [section] = parsed.sections
  assert.ok(section?.kind === 'update')
  return section.hunks
}

const apply = (text: string, ...lines: string[]) => applyHunks(text, hunksOf(...lines), 'a')

test('a patch of several files is parsed with its sections in order', () => {
  const parsed = parsePatch(
    [
      '*** Begin Patch',
      '*** Add File: new.txt',
      '+one',
      '+',
      '+*** End Patch',
      '',
      '*** Delete File: old.txt',
      '*** Update File: a.ts',
      '*** Move to: b.ts',
      '@@ class A',
      '@@ run() @@',
      ' keep',
      '-old',
      '+new',
      '*** End of File',
      '*** Move File: c -> d',
      '*** End Patch',
    ].join('\r\n'),
  )
  assert.deepEqual(parsed.ok && parsed.sections, [
    { kind: 'add', path: 'new.txt', line: 2, lines: ['one', '', '*** End Patch'] },
    { kind: 'delete', path: 'old.txt', line: 7 },
    {
      kind: 'update',
      path: 'a.ts',
      line: 8,
      moveTo: 'b.ts',
      hunks: [
        {
          line: 12,
          anchors: ['class A', 'run()'],
          lines: [
            { kind: 'context', text: 'keep' },
            { kind: 'removed', text: 'old' },
            { kind: 'added', text: 'new' },
          ],
          atEnd: true,
        },
      ],
    },
    { kind: 'update', path: 'c', line: 16, moveTo: 'd', hunks: [] },
  ])
})

test('a patch that cannot be read names the line and what was expected there', () => {
  for (const [lines, line] of [
    [['hello'], 1],
    [['*** Begin Patch', '*** Update File: a'], 2],
    [['*** Begin Patch', '*** Update File:', ' a'], 2],
    [['*** Begin Patch', '*** Add File: a', 'text'], 3],
    [['*** Begin Patch', '*** Delete File: a', '-text'], 3],
    [['*** Begin Patch', '*** Update File: a', '-x', '+y', '*** Rename File: b'], 5],
    [['*** Begin Patch', '*** Move File: a'], 2],
    [['*** Begin Patch', '*** End Patch'], 1],
  ] as const) {
    const parsed = parsePatch(lines.join('\n'))
    assert.ok(!parsed.ok)
    assert.deepEqual([parsed.code, parsed.line], ['invalid_patch', line], lines.join('|'))
  }
})

test('lines are replaced where they are, and the other lines stay as they are', () => {
  const done = apply('a\nb\nc\nd\n', ' b', '-c', '+C', '+C2')
  assert.deepEqual(done, { ok: true, text: 'a\nb\nC\nC2\nd\n', loose: 0 })
})

test('text after @@ says which of several equal places is meant; without it the places are listed', () => {
  const text = 'f:\n  x\ng:\n  x\nh:\n  x\n'
  const refused = apply(text, '-  x', '+  y')
  assert.ok(!refused.ok)
  assert.equal(refused.code, 'ambiguous')
  assert.match(refused.reason, /lines 2, 4, 6/)
  const done = apply(text, '@@ g:', '-  x', '+  y')
  assert.equal(done.ok && done.text, 'f:\n  x\ng:\n  y\nh:\n  x\n')
  const stacked = apply('A\nf\n x\nB\nf\n x\n', '@@ B', '@@ f', '- x', '+ y')
  assert.equal(stacked.ok && stacked.text, 'A\nf\n x\nB\nf\n y\n')
})

test('wrong spaces are forgiven, and new lines get the indentation of the file', () => {
  const done = apply('if x:\n\tgo()\n\tstop()\n', ' if x:', '-    go()', '+    run()', '     stop()')
  assert.equal(done.ok && done.text, 'if x:\n    run()\n\tstop()\n')
  const inner = apply('if x:\n\tgo()\n', '-    go()', '+    run()', '+      deep()')
  assert.deepEqual(inner, { ok: true, text: 'if x:\n\trun()\n\t  deep()\n', loose: 1 })
})

test('lines are added at the end, after an anchor, and to an empty file', () => {
  const end = apply('a\n', '@@', '+b', '*** End of File')
  assert.equal(end.ok && end.text, 'a\nb\n')
  const after = apply('a\nb\n', '@@ a', '+x')
  assert.equal(after.ok && after.text, 'a\nx\nb\n')
  const empty = apply('', '+x')
  assert.equal(empty.ok && empty.text, 'x\n')
})

test('line breaks of Windows and a missing one at the end are kept', () => {
  const done = apply('a\r\nb\r\nc', ' b', '-c', '+d', '+e')
  assert.equal(done.ok && done.text, 'a\r\nb\r\nd\r\ne')
})

test('lines that are not there are compared with the nearest ones', () => {
  const missing = apply('one\ntwo words\nthree\nfour\n', ' two words', ' tree', '-four', '+4')
  assert.ok(!missing.ok)
  assert.equal(missing.code, 'not_found')
  assert.equal(missing.line, 3)
  assert.match(missing.reason, /line 2.*"tree".*line 3 is "three"/s)
  const similar = apply('const limit = 10\n', '-const limits = 10', '+x')
  assert.ok(!similar.ok)
  assert.match(similar.reason, /Line 1 .*"const limit = 10"/)
  const anchor = apply('const limit = 10\n', '@@ const limits', '-b', '+c')
  assert.equal(anchor.ok || anchor.code, 'not_found')
})

test('hunks out of order are applied; those that change the same lines, and those that change nothing, are not', () => {
  const done = apply('a\nb\nc\n', '@@', '-c', '+C', '@@', '-a', '+A')
  assert.equal(done.ok && done.text, 'A\nb\nC\n')
  const twice = apply('a\nb\nc\n', '@@', '-a', '-b', '+A', '@@', '-b', '+B')
  assert.equal(twice.ok || twice.code, 'overlapping')
  const nothing = apply('a\nb\n', ' a', ' b')
  assert.equal(nothing.ok || nothing.code, 'unchanged')
})

/** A V4A section from the diff: the same hunks without line numbers. */
function toPatch(diff: string): string[] {
  return diff
    .split('\n')
    .slice(2, -1)
    .map((line) => (line.startsWith('@@') ? '@@' : line))
    .filter((line) => !line.startsWith('\\'))
}

const words = fc.constantFrom('', 'a', 'b', 'c', ' c', 'def f():', '*** End Patch', '@@', '\\', '+x', '-y')
const texts = fc.array(words, { maxLength: 12 }).map((lines) => lines.map((line) => `${line}\n`).join(''))

test('the diff of two texts, applied to the first, gives the second or is refused as ambiguous, never another text', () => {
  let applied = 0
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      fc.pre(before !== after)
      const done = applyHunks(before, hunksOf(...toPatch(unifiedDiff({ path: 'a', before, after }, 1e6))), 'a')
      if (done.ok) applied += 1
      if (done.ok) assert.equal(done.text, after)
      else assert.equal(done.code, 'ambiguous')
    }),
  )
  assert.ok(applied > 20, 'most diffs are applied')
})

test('the diff of texts whose lines differ is always applied exactly', () => {
  const edit = fc.record({ at: fc.nat(39), kind: fc.constantFrom('remove', 'insert', 'change'), text: fc.string() })
  const clean = (text: string) => text.replace(/[\r\n]/g, '')
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 8 }), fc.constantFrom('\n', '\r\n'), (edits, ending) => {
      const old = Array.from({ length: 40 }, (_, index) => `line ${index}`)
      const now = [...old]
      for (const [index, { at, kind, text }] of edits.entries())
        now.splice(at, kind === 'insert' ? 0 : 1, ...(kind === 'remove' ? [] : [`${index} ${clean(text)}`]))
      const [before, after] = [old, now].map((lines) => lines.map((line) => line + ending).join(''))
      assert.ok(before !== undefined && after !== undefined)
      // An insertion that a later edit removes is no change.
      fc.pre(before !== after)
      const diff = unifiedDiff({ path: 'a', before, after }, 1e6).replaceAll('\r', '')
      const done = applyHunks(before, hunksOf(...toPatch(diff)), 'a')
      assert.deepEqual(done, { ok: true, text: after, loose: 0 })
    }),
  )
})
