/**
 * One vocabulary: the terms that the glossary retires do not come back (docs/reference/glossary.md).
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { filesOf, textOf } from './docs/repository.ts'

const glossary = 'docs/reference/glossary.md'

/** The columns of the table below the heading. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const section = textOf(glossary).split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const lines = section.split('\n').filter((line) => line.startsWith('| '))
  return lines.slice(1).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

/** Each word may be inflected, and the words may stand on two lines of a comment. */
function patternOf(term: string): RegExp {
  const words = term.split(' ').map((word) => `${word.replace(/s$/, '')}(?:s|ed|ing|d)?`)
  return new RegExp(`\\b${words.join('(?:\\s|\\*|//)+')}\\b`, 'gi')
}

/** `path:line: word` for each use of a retired term. */
function usesIn(path: string, text: string, retired: readonly RegExp[]): string[] {
  return retired.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ index, 0: word }) => {
      const line = text.slice(0, index).split('\n').length
      return `${path}:${line}: ${word}`
    }),
  )
}

/** The text of each comment with its line, without the marks of comments. */
function commentsIn(text: string): readonly { readonly line: number; readonly words: string }[] {
  const comments = /\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/[^\n]*\n)+|(?<=[;,{)\s])\/\/ [^\n]*/gm
  return [...text.matchAll(comments)].map(({ index, 0: comment }) => ({
    line: text.slice(0, index).split('\n').length,
    words: comment
      .replace(/^\s*\/\*+|\*\/$/g, '')
      .replace(/^\s*(?:\*|\/\/)[ \t]?/gm, '')
      .replace(/\s+/g, ' ')
      .trim(),
  }))
}

/**
 * A comment is a sentence: one that begins with these words mostly has neither a subject nor a verb. "Not all of them" is a
 * subject, and "Null when …" describes a value as "Undefined when …" does.
 */
const beginsFragment = /^(?:(?:Of|Those|Also|As|Who|Whose|Woken)\b|Not (?!all\b|each\b|even\b|every\b)|Null: )/

/** `path:line: sentence` for each fragment in a comment. */
function fragmentsIn(path: string, text: string): string[] {
  return commentsIn(text).flatMap(({ line, words }) =>
    words
      .split(/(?<=[.:!?;]) (?=[A-Z])/)
      .filter((sentence) => beginsFragment.test(sentence))
      .map((sentence) => `${path}:${line}: ${sentence}`),
  )
}

/** Names that say nothing about a value, where it is declared: as a variable, a function or a parameter. */
const emptyNames =
  /\b(?:const|let|function\*?) \[?(?:one|found|own|kept)\b|(?<![.\w])(?:one|found|own|kept) =>|[([](?:one|found|own|kept)(?:: [^()]*?|, \w+|\], \[\w+\])?\) ?(?:=>|: |\{)/g

function emptyNamesIn(path: string, text: string): string[] {
  return [...text.matchAll(emptyNames)].map(
    ({ index, 0: declaration }) => `${path}:${text.slice(0, index).split('\n').length}: ${declaration}`,
  )
}

/** Everything that we have written, as the folders of the repository hold it. */
function ownFiles(): string[] {
  return ['src', 'platforms', 'plugins', 'hooks', 'docs', 'test']
    .flatMap((folder) => filesOf(folder))
    .concat(['README.md', 'CONTRIBUTING.md', 'SECURITY.md'])
    .filter((path) => /\.(ts|mjs|js|py|md|yaml|css|html)$/.test(path) && !isExempt(path))
}

describe('the vocabulary', () => {
  const retired = rowsBelow('Retired terms').map(([term = '']) => patternOf(term))

  test('is defined in the glossary, about sixty terms with one meaning each', () => {
    const terms = [...textOf(glossary).matchAll(/^\| \*\*([^*]+)\*\* \|/gm)].map(([, term]) => term)
    assert.ok(terms.length >= 55, `${terms.length} terms`)
    assert.deepEqual(terms, [...new Set(terms)])
    assert.ok(retired.length >= 15)
  })

  test('a planted use of a retired term is found, also across two lines', () => {
    const text = '/**\n * The message was set\n * aside. Mended.\n */'
    assert.deepEqual(usesIn('planted.ts', text, [patternOf('set aside'), patternOf('mend')]), [
      'planted.ts:2: set\n * aside',
      'planted.ts:3: Mended',
    ])
  })

  test('has no retired term in sources, pages and tests', () => {
    assert.deepEqual(
      ownFiles().flatMap((path) => usesIn(path, textOf(path), retired)),
      [],
    )
  })

  test('a planted fragment is found, alone, after a sentence and in a comment of several lines', () => {
    const text =
      '/** Of a file. */\n// It is read. Those of others\n// are not.\nconst a = 1 // As typed.\n/**\n * Also\n * read.\n */\n// Who writes. Not read. Null: none.'
    assert.deepEqual(fragmentsIn('planted.ts', text), [
      'planted.ts:1: Of a file.',
      'planted.ts:2: Those of others are not.',
      'planted.ts:4: As typed.',
      'planted.ts:5: Also read.',
      'planted.ts:9: Who writes.',
      'planted.ts:9: Not read.',
      'planted.ts:9: Null: none.',
    ])
    assert.deepEqual(
      fragmentsIn('planted.ts', '// The size of a file. It is as it was, like those. Not all are.\nconst a = "Of"'),
      [],
    )
  })

  test('has no fragment in the comments of sources and tests', () => {
    const sources = ownFiles().filter((path) => /\.(ts|mjs|js|css)$/.test(path))
    assert.deepEqual(
      sources.flatMap((path) => fragmentsIn(path, textOf(path))),
      [],
    )
  })

  test('a planted value with an empty name is found: a variable, parameters, and one of a pair', () => {
    const lines = [
      'const found = a.find((one) => one.b)',
      'let [own] = c',
      'function d(kept: string): void {}',
      'e.sort((one, other) => one - other)',
      'f.sort(([one], [other]) => one - other)',
      'const { found: g } = h.found(one.own, kept)',
    ]
    assert.deepEqual(emptyNamesIn('planted.ts', lines.join('\n')), [
      'planted.ts:1: const found',
      'planted.ts:1: (one) =>',
      'planted.ts:2: let [own',
      'planted.ts:3: (kept: string): ',
      'planted.ts:4: (one, other) =>',
      'planted.ts:5: [one], [other]) =>',
    ])
  })

  test('has no value called one, found, own or kept in the sources', () => {
    const sources = ownFiles().filter((path) => path.endsWith('.ts') && !/^(?:test|docs)\//.test(path))
    assert.deepEqual(
      sources.flatMap((path) => emptyNamesIn(path, textOf(path))),
      [],
    )
  })
})

/** Texts that are not ours, and the pages that name retired terms on purpose. */
function isExempt(path: string): boolean {
  return (
    path === glossary ||
    path === 'test/vocabulary.test.ts' ||
    path.startsWith('test/replay/') ||
    path.startsWith('test/hooks/seeds/')
  )
}
