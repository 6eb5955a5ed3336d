/**
 * Every row of docs/reference/conformance.md names tests that exist, by their file and their exact name.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root, textOf } from './repository.ts'

const path = 'docs/reference/conformance.md'

interface Row {
  /** `000` … `003`, `later` or `ours`. */
  readonly seed: string
  readonly statement: string
  readonly proofs: readonly { readonly file: string; readonly name: string }[]
}

/** Rows of the tables: `| 000 | statement | proofs | note |`; proofs are `` `file` name ``, with `<br>` between them. */
function rowsIn(text: string): Row[] {
  return text.split('\n').flatMap((line) => {
    const [, seed = '', statement = '', proved = ''] = line.split(/(?<!\\)\|/).map((cell) => cell.trim())
    if (!/^(?:\d{3}|later|ours)$/.test(seed)) return []
    const proofs = proved.split('<br>').map((proof) => {
      const { file = '', name = '' } = /^`(?<file>[^`]+)` (?<name>.+)$/.exec(proof.trim())?.groups ?? {}
      return { file, name: name.replaceAll('\\|', '|') }
    })
    return [{ seed, statement, proofs }]
  })
}

/** Whether a test of this file is called so; of names that are put together every part must stand in the file. */
function hasTest(file: string, sought: string): boolean {
  const text = textOf(file)
  return namesIn(text).some((name) => {
    if (typeof name === 'string') return name === sought
    const parts = name.exec(sought)
    return parts?.slice(1).every((part) => text.includes(part)) === true
  })
}

/** What `test`, `it` and `t.test` call the tests of a file. */
function namesIn(text: string): (string | RegExp)[] {
  const named = /\b(?:test|it)\(\s*(?<quote>['"`])(?<name>(?:\\.|(?!\k<quote>)[\s\S])*)\k<quote>/g
  return [...text.matchAll(named)].map(({ groups = {} }) => {
    const name = (groups['name'] ?? '').replace(/\\(?<letter>.)/g, '$<letter>')
    return groups['quote'] === '`' && name.includes('${') ? patternOf(name) : name
  })
}

function patternOf(template: string): RegExp {
  const parts = template.split(/\$\{[^}]*\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('(.+)')}$`)
}

/** Each proof that leads nowhere, a sentence each. */
function lost(rows: readonly Row[]): string[] {
  return rows.flatMap(({ statement, proofs }) =>
    proofs.flatMap(({ file, name }) => {
      if (!file.endsWith('.test.ts') || !existsSync(join(root, file))) return [`${statement}: no file ${file}`]
      return hasTest(file, name) ? [] : [`${statement}: ${file} has no test "${name}"`]
    }),
  )
}

test('every statement about hooks and middleware has a test of that name', () => {
  const rows = rowsIn(textOf(path))
  for (const seed of ['000', '001', '002', '003']) {
    assert.ok(rows.filter((row) => row.seed === seed).length >= 10, `seed ${seed}`)
  }
  for (const seed of ['later', 'ours']) assert.ok(rows.filter((row) => row.seed === seed).length >= 5, seed)
  assert.deepEqual(lost(rows), [])
  const statements = rows.map(({ seed, statement }) => `${seed} ${statement}`)
  assert.deepEqual([...new Set(statements)], statements, 'a statement stands there twice')
})

test('a row that names a test that is not there is noticed', () => {
  const here = 'test/docs/conformance.test.ts'
  const planted = [
    `| 000 | right | \`${here}\` a row that names a test that is not there is noticed | |`,
    `| 000 | another name | \`${here}\` something else | |`,
    '| 000 | another file | `test/docs/nothing.test.ts` something | |',
    '| 000 | none | | |',
  ]
  assert.deepEqual(lost(rowsIn(planted.join('\n'))), [
    `another name: ${here} has no test "something else"`,
    'another file: no file test/docs/nothing.test.ts',
    'none: no file ',
  ])
})
