/**
 * Walks the syntax tree of a command and applies the rules to every simple command in it: in substitutions,
 * here-documents, functions, behind `sudo`, and in the text passed to `bash -c`.
 */
import { type Command, type CommandNode, forEachChild, parse, type Redirected, type SyntaxNode } from 'unbash'
import { findEmbeddedScripts } from './embedded-scripts.ts'
import {
  createVariableLookup,
  type ExpandContext,
  expandQuoted,
  expandWord,
  type VariableLookup,
} from './expand-word.ts'
import { type Field, literalText, sourceText, startsUnknown, textPiece } from './field.ts'
import { echoOutput, printfOutput } from './known-output.ts'
import type { ProtectedPaths } from './protected-paths.ts'
import {
  type CommandInput,
  type CommandRule,
  forbid,
  type Redirection,
  type RuleMatch,
  requireApproval,
} from './rule.ts'
import { checkRedirection, devices, removal, sensitiveFiles } from './rules/files.ts'
import { containers, databases, isForkBomb, permissions, power, processes } from './rules/system.ts'
import { wrappedCommands } from './wrappers.ts'

/** The context in which a part of the tree runs. */
interface ExecutionContext {
  /** Updated by `cd`. A part that runs in its own process gets a copy. */
  readonly directory: { cwd: string | undefined }
  readonly input: CommandInput
  readonly background: boolean
  readonly lookupVariable: VariableLookup
  /** How many scripts enclose this one: `bash -c "bash -c …"`. */
  readonly depth: number
}

export interface CommandAnalysis {
  readonly matches: readonly RuleMatch[]
  /** Each simple command as plain text, with and without the directory of its name, for the deny list. */
  readonly commands: readonly string[]
}

export interface AnalyzeCommandOptions {
  readonly protectedPaths: ProtectedPaths
  readonly lookupVariable: VariableLookup
  readonly cwd: string | undefined
  readonly input: CommandInput
}

/** The state of one analysis. */
interface Analysis {
  readonly paths: ProtectedPaths
  readonly matches: RuleMatch[]
  readonly commands: string[]
  /** Bounds the work that variables and braces can cause. */
  readonly budget: { steps: number }
}

/** In the order of precedence: of several matches with the same decision the first is reported. */
const rules: readonly CommandRule[] = [
  removal,
  devices,
  power,
  processes,
  permissions,
  databases,
  containers,
  sensitiveFiles,
]

const tooDeep = requireApproval('too-deep', 'nests commands in commands too deeply to be checked')
const tooLarge = requireApproval('too-large', 'has too many parts to be checked')
const maxDepth = 8
/** Fields that the first word of a command may expand to. */
const maxNames = 64
const maxSteps = 3_000
/** Characters of an embedded script that cost one step. */
const charsPerStep = 64
/** Words of a simple command that cost one step when it is checked again under another possible name. */
const wordsPerStep = 16

/** Throws only a RangeError, for a text whose nesting exhausts the stack. */
export function analyzeCommand(
  text: string,
  { protectedPaths: paths, lookupVariable, cwd, input }: AnalyzeCommandOptions,
): CommandAnalysis {
  const analysis: Analysis = { paths, matches: [], commands: [], budget: { steps: maxSteps } }
  visitScript(analysis, text, { directory: { cwd }, input, background: false, lookupVariable, depth: 0 })
  return { matches: analysis.matches, commands: analysis.commands }
}

function addMatch({ matches }: Analysis, match: RuleMatch | undefined): void {
  if (match !== undefined) matches.push(match)
}

/** Charges the budget; false, with a match, when it is exhausted. */
function spend(analysis: Analysis, steps: number): boolean {
  analysis.budget.steps -= steps
  if (analysis.budget.steps > 0) return true
  addMatch(analysis, tooLarge)
  return false
}

function expandContextOf({ paths, budget }: Analysis, { directory, lookupVariable }: ExecutionContext): ExpandContext {
  return { lookupVariable, userHome: paths.userHome, cwd: directory.cwd, budget, depth: 0 }
}

/** The context of a separate process: its `cd` does not change the directory of the others. */
function forkContext(execution: ExecutionContext): ExecutionContext {
  return { ...execution, directory: { ...execution.directory } }
}

function visitScript(analysis: Analysis, script: string, execution: ExecutionContext): void {
  if (execution.depth > maxDepth) {
    addMatch(analysis, tooDeep)
    return
  }
  // A script in a variable can be evaluated many times, so each parsed text is charged by its length.
  if (execution.depth > 0 && !spend(analysis, 1 + script.length / charsPerStep)) return
  const tree = parse(script)
  visit(analysis, tree, { ...execution, lookupVariable: createVariableLookup(tree, execution.lookupVariable) })
}

function visit(analysis: Analysis, node: SyntaxNode, execution: ExecutionContext): void {
  switch (node.type) {
    case 'Script':
      if ((node.errors?.length ?? 0) > 0) addMatch(analysis, requireApproval('unreadable', 'is not valid shell syntax'))
      visitChildren(analysis, node, execution)
      break
    case 'Statement':
      visitChildren(
        analysis,
        node,
        node.background === true ? { ...forkContext(execution), background: true } : execution,
      )
      break
    case 'Pipeline':
      visitPipeline(analysis, node.commands, execution)
      break
    case 'Subshell':
    case 'CommandExpansion':
    case 'ProcessSubstitution':
    case 'Coproc':
      visitChildren(analysis, node, forkContext(execution))
      break
    case 'Function':
      if (isForkBomb(node)) addMatch(analysis, forbid('fork-bomb', 'starts itself repeatedly until the machine stops'))
      visitChildren(analysis, node, forkContext(execution))
      break
    case 'Redirected':
      visitRedirected(analysis, node, execution)
      break
    case 'Command':
      visitChildren(analysis, node, execution)
      visitCommand(analysis, node, execution)
      break
    default:
      visitChildren(analysis, node, execution)
  }
}

function visitChildren(analysis: Analysis, node: SyntaxNode, execution: ExecutionContext): void {
  forEachChild(node, (child) => visit(analysis, child, execution))
}

function visitRedirected(analysis: Analysis, node: Redirected, execution: ExecutionContext): void {
  const context = expandContextOf(analysis, execution)
  checkRedirections(analysis, node.redirects, context)
  for (const redirect of node.redirects) visit(analysis, redirect, execution)
  visit(analysis, node.command, { ...execution, input: inputOf(node.redirects, context, execution.input) })
}

function visitPipeline(analysis: Analysis, stages: readonly CommandNode[], execution: ExecutionContext): void {
  for (const [index, stage] of stages.entries()) {
    if (stages.length === 1) visit(analysis, stage, execution)
    else {
      const previous = stages[index - 1]
      const text = knownPipeText(previous, expandContextOf(analysis, execution))
      const input: CommandInput = previous === undefined ? execution.input : { kind: 'pipe', text }
      visit(analysis, stage, { ...forkContext(execution), input })
    }
  }
}

function visitCommand(analysis: Analysis, node: Command, execution: ExecutionContext): void {
  const context = expandContextOf(analysis, execution)
  checkRedirections(analysis, node.redirects, context)
  if (node.name === undefined) return
  const names = expandWord(node.name, context)
  const args = node.args.flatMap((word) =>
    word.type === 'Word' ? expandWord(word, context) : expandAssignment(word.name, word.value, context),
  )
  const inner = { ...execution, input: inputOf(node.redirects, context, execution.input) }
  if (names.length === 0) visitSimpleCommand(analysis, args, inner, [])
  if (names.length > maxNames) addMatch(analysis, tooLarge)
  // The first word may have several values or expand to several words: each of them may be the command name.
  for (const index of names.slice(0, maxNames).keys()) {
    // The first possible name is always checked, so that a large command cannot hide a forbidden one.
    if (index > 0 && !spend(analysis, (names.length + args.length) / wordsPerStep)) break
    visitSimpleCommand(analysis, [...names.slice(index), ...args], inner, [])
  }
  spend(analysis, 0)
}

function visitSimpleCommand(
  analysis: Analysis,
  words: readonly Field[],
  execution: ExecutionContext,
  wrappers: readonly string[],
): void {
  const [first, ...args] = words
  if (first === undefined) return
  const path = literalText(first)
  if (path === undefined) {
    addMatch(analysis, requireApproval('unknown-command', 'runs a command whose name is known only at run time'))
    // When the variables at the beginning are empty, the next word is the name.
    const next = words.findIndex((field) => field.length > 1 || !startsUnknown(field))
    if (next > 0) visitSimpleCommand(analysis, words.slice(next), execution, wrappers)
    return
  }
  if (wrappers.length > maxDepth) {
    addMatch(analysis, tooDeep)
    return
  }
  const name = path.slice(path.lastIndexOf('/') + 1)
  analysis.commands.push([path, ...args.map(sourceText)].join(' '), [name, ...args.map(sourceText)].join(' '))
  const { input, background, directory } = execution
  const command = { name, args, input, cwd: directory.cwd, background, wrappers }
  for (const rule of rules) addMatch(analysis, rule(command, analysis.paths))
  for (const inner of wrappedCommands(name, args)) visitSimpleCommand(analysis, inner, execution, [...wrappers, name])
  for (const { shell, match } of findEmbeddedScripts(command)) {
    addMatch(analysis, match)
    if (shell !== undefined) visitScript(analysis, shell, { ...execution, depth: execution.depth + 1 })
  }
  if (/^(?:cd|pushd|popd)$/.test(name)) directory.cwd = directoryAfter(name, args, directory.cwd, analysis.paths)
}

function directoryAfter(
  name: string,
  args: readonly Field[],
  cwd: string | undefined,
  paths: ProtectedPaths,
): string | undefined {
  const [target] = args.filter((field) => !/^-[LPe@]+$|^--$/.test(literalText(field) ?? ''))
  if (target === undefined) return name === 'cd' ? paths.userHome : undefined
  if (literalText(target) === '-') return undefined
  const components = paths.toPattern(target, cwd)?.map(literalText)
  return components === undefined || components.includes(undefined) ? undefined : `/${components.join('/')}`
}

function expandAssignment(name: string, value: SyntaxNode, context: ExpandContext): Field[] {
  if (value.type !== 'Word') return [[textPiece(`${name}=`)]]
  return expandWord(value, context).map((field) => [textPiece(`${name}=`), ...field])
}

type Redirects = Command['redirects']
type HereDoc = Extract<Redirects[number], { type: 'HereDoc' }>

function checkRedirections(analysis: Analysis, redirects: Redirects, context: ExpandContext): void {
  for (const redirection of fileRedirections(redirects, context))
    addMatch(analysis, checkRedirection(redirection, context.cwd, analysis.paths))
}

/** The redirections that name a file; a here-document does not. */
function fileRedirections(redirects: Redirects, context: ExpandContext): Redirection[] {
  return redirects.flatMap((redirect) => {
    if (redirect.type !== 'Redirect' || redirect.target === undefined) return []
    const { operator } = redirect
    return expandWord(redirect.target, context).map((target) => ({ operator, target }))
  })
}

/** The input of a command. The last input redirection wins; `inherited` applies when there is none. */
function inputOf(redirects: Redirects, context: ExpandContext, inherited: CommandInput): CommandInput {
  let input = inherited
  for (const redirect of redirects) input = inputOfRedirection(redirect, context) ?? input
  return input
}

function inputOfRedirection(redirect: Redirects[number], context: ExpandContext): CommandInput | undefined {
  if (redirect.type === 'HereDoc') return { kind: 'text', text: hereDocText(redirect, context) }
  const [field] = redirect.target === undefined ? [] : expandWord(redirect.target, context)
  if (redirect.type === 'HereString') return { kind: 'text', text: literalText(field) }
  const reads = redirect.operator === '<' || redirect.operator === '<>'
  return reads && field !== undefined ? { kind: 'file', field } : undefined
}

/** The text of a here-document; undefined when a part of it is known only at run time. */
function hereDocText({ delimiter, body }: HereDoc, context: ExpandContext): string | undefined {
  if (delimiter?.quoted === true || body.parts === undefined) return body.text
  return literalText(expandQuoted(body.parts, context))
}

/** What a pipeline stage prints into the pipe: `echo …`, `printf …`, `cat` of a here-document; otherwise undefined. */
function knownPipeText(node: CommandNode | undefined, context: ExpandContext): string | undefined {
  if (node?.type !== 'Command') return undefined
  const args = node.suffix.flatMap((word) => (word.type === 'Word' ? expandWord(word, context) : []))
  switch (node.name?.value) {
    case 'echo':
      return echoOutput(args)
    case 'printf':
      return printfOutput(args)
    case 'cat': {
      const document = node.redirects.find((redirect) => redirect.type === 'HereDoc')
      if (document === undefined || args.length > 0) return undefined
      return hereDocText(document, context)
    }
    default:
      return undefined
  }
}
