/**
 * Simple syntax highlighting of comments, strings and common keywords, without a parser. Code in an unknown language stays
 * unchanged.
 */
import { h } from './dom.js'

const keywords = {
  script:
    'async await break case catch class const continue default delete do else export extends finally for from function if implements import in instanceof interface let new of return static super switch this throw try type typeof var void while yield null undefined true false',
  python:
    'and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield None True False self match case',
  shell: 'case do done elif else esac export fi for function if in local return then while set cd echo exit source',
  systems:
    'as break case chan class const continue def default defer do else enum extern fn for func go if impl import in interface let loop match mod mut namespace new null nil package private protected pub public return select self static struct switch template this trait true false try type typedef union unsafe use using var void where while',
  sql: 'select from where and or not insert into values update set delete create table index drop alter join left right inner outer on group by order limit offset as distinct having union null is in like between case when then else end primary key references default',
  data: 'true false null yes no',
}

/** @typedef {{ words: Set<string>, comment: '//' | '#' | '--' }} Language */

/** Which words, and how a comment begins. @type {Map<string, Language>} */
const languages = new Map([
  ...addLanguages('js javascript jsx ts typescript tsx mjs', keywords.script, '//'),
  ...addLanguages('py python', keywords.python, '#'),
  ...addLanguages('sh bash zsh shell console', keywords.shell, '#'),
  ...addLanguages('go rust rs c cpp h java kotlin swift cs csharp php scala dart zig', keywords.systems, '//'),
  ...addLanguages('sql', keywords.sql, '--'),
  ...addLanguages('yaml yml toml ini dockerfile', keywords.data, '#'),
  ...addLanguages('json jsonc', keywords.data, '//'),
])

/** @param {string} names @param {string} list @param {Language['comment']} comment @returns {[string, Language][]} */
function addLanguages(names, list, comment) {
  const language = { words: new Set(list.split(' ')), comment }
  return names.split(' ').map((name) => [name, language])
}

/** Longer code is not highlighted. */
const maxChars = 20_000

/**
 * @param {string} code
 * @param {string} name of the language, as the fence says it
 * @returns {(Node | string)[]}
 */
export function highlight(code, name) {
  const language = languages.get(name.toLowerCase())
  if (language === undefined || code.length > maxChars) return [code]
  /** @type {(Node | string)[]} */
  const parts = []
  let plain = ''
  for (const [token] of code.matchAll(pattern(language.comment))) {
    const kind = kindOf(token, language)
    if (kind === null) {
      plain += token
      continue
    }
    if (plain !== '') parts.push(plain)
    plain = ''
    parts.push(h('span', { class: `tint-${kind}` }, token))
  }
  if (plain !== '') parts.push(plain)
  return parts
}

/** Comment, string, word or number, else anything: together they match every character once. @param {string} comment */
function pattern(comment) {
  const block = comment === '//' ? '\\/\\*[\\s\\S]*?(?:\\*\\/|$)|' : ''
  // In shells and configuration a # inside a word does not start a comment.
  const line = `${comment === '#' ? '(?<![^\\s])#' : comment}[^\\n]*|`
  return new RegExp(
    `${block}${line}"(?:\\\\.|[^"\\\\\\n])*"|'(?:\\\\.|[^'\\\\\\n])*'|\`(?:\\\\.|[^\`\\\\])*\`|[A-Za-z_$][\\w$]*|\\d[\\w.]*|[\\s\\S]`,
    'g',
  )
}

/** @param {string} token @param {Language} language */
function kindOf(token, { words: known, comment }) {
  if (token.length > 1 && /^["'`]/.test(token)) return 'string'
  if (token.startsWith(comment) || token.startsWith('/*')) return 'comment'
  if (/^\d/.test(token)) return 'number'
  return known.has(token) || (comment === '--' && known.has(token.toLowerCase())) ? 'word' : null
}
