/**
 * Walks the syntax tree of a command and judges every simple command in it, wherever it hides: in substitutions,
 * here-documents, arithmetic, functions, behind `sudo` or in the text given to `bash -c`.
 */
import { type Command, type CommandNode, forEachChild, parse, type Redirected, type SyntaxNode } from 'unbash'
import { type ExpandContext, expandWord } from './expand-word.ts'
import { type Field, literalText, sourceText, startsUnknown, textPiece } from './field.ts'
import { findEmbeddedScripts } from './find-embedded-scripts.ts'
import { isForkBomb } from './fork-bomb.ts'
import { knownPipeText } from './piped-text.ts'
import type { ProtectedPaths } from './protected-paths.ts'
import { inputOf, redirectionsOf } from './redirections.ts'
import { forbid, type RuleMatch, requireApproval } from './rule-match.ts'
import { checkRedirection, checkSimpleCommand } from './rules/index.ts'
import type { CommandInput, SimpleCommand } from './simple-command.ts'
import { createVariableLookup, type VariableLookup } from './variables.ts'
import { wrappedCommands } from './wrappers.ts'

/** What surrounds the part of the tree that is being looked at. */
interface ExecutionContext {
  /** Changes as `cd` is met; parts that run in a process of their own get a copy. */
  readonly directory: { cwd: string | undefined }
  readonly input: CommandInput
  readonly background: boolean
  readonly lookupVariable: VariableLookup
  /** How many texts deep: `bash -c "bash -c …"`. */
  readonly depth: number
}

export interface CommandAnalysis {
  readonly matches: readonly RuleMatch[]
  /** Each simple command as plain words, for the deny list. */
  readonly commands: readonly string[]
}

export interface AnalyzeCommandOptions {
  readonly protectedPaths: ProtectedPaths
  readonly lookupVariable: VariableLookup
  readonly cwd: string | undefined
  readonly input: CommandInput
}

const tooDeep = requireApproval('too-deep', 'hides commands in commands too deeply to be judged')
const tooLarge = requireApproval('too-large', 'has too many parts to be judged')
const maxDepth = 8
/** Words that one first word may become. */
const maxNames = 64
const maxSteps = 20_000

/** Throws a RangeError for a text nested so deeply that the stack does not hold it; nothing else. */
export function analyzeCommand(
  text: string,
  { protectedPaths: places, lookupVariable: variable, cwd, input }: AnalyzeCommandOptions,
): CommandAnalysis {
  const matches: RuleMatch[] = []
  const commands: string[] = []
  const budget = { steps: maxSteps }
  const addMatch = (finding: RuleMatch | undefined) => {
    if (finding !== undefined) matches.push(finding)
  }

  const contextOf = ({ directory, lookupVariable: lookup }: ExecutionContext): ExpandContext => ({
    lookupVariable: lookup,
    userHome: places.userHome,
    cwd: directory.cwd,
    budget,
    depth: 0,
  })

  const visitText = (script: string, execution: ExecutionContext) => {
    if (execution.depth > maxDepth) {
      addMatch(tooDeep)
      return
    }
    const tree = parse(script)
    visit(tree, { ...execution, lookupVariable: createVariableLookup(tree, execution.lookupVariable) })
  }

  const visitChildren = (node: SyntaxNode, around: ExecutionContext) => {
    forEachChild(node, (child) => visit(child, around))
  }

  const visit = (node: SyntaxNode, around: ExecutionContext) => {
    switch (node.type) {
      case 'Script':
        if ((node.errors?.length ?? 0) > 0) addMatch(requireApproval('unreadable', 'is not valid shell syntax'))
        visitChildren(node, around)
        break
      case 'Statement':
        visitChildren(node, node.background === true ? { ...forkContext(around), background: true } : around)
        break
      case 'Pipeline':
        visitPipeline(node.commands, around)
        break
      case 'Subshell':
      case 'CommandExpansion':
      case 'ProcessSubstitution':
      case 'Coproc':
        visitChildren(node, forkContext(around))
        break
      case 'Function':
        if (isForkBomb(node)) addMatch(forbid('fork-bomb', 'starts itself over and over until the machine stops'))
        visitChildren(node, forkContext(around))
        break
      case 'Redirected':
        visitRedirected(node, around)
        break
      case 'Command':
        visitChildren(node, around)
        visitCommand(node, around)
        break
      default:
        visitChildren(node, around)
    }
  }

  const visitRedirected = (node: Redirected, around: ExecutionContext) => {
    const context = contextOf(around)
    for (const one of redirectionsOf(node.redirects, context)) addMatch(checkRedirection(one, context.cwd, places))
    for (const redirect of node.redirects) visit(redirect, around)
    visit(node.command, { ...around, input: inputOf(node.redirects, context, around.input) })
  }

  const visitPipeline = (stages: readonly CommandNode[], around: ExecutionContext) => {
    for (const [index, stage] of stages.entries()) {
      if (stages.length === 1) visit(stage, around)
      else {
        const before = stages[index - 1]
        const text = knownPipeText(before, contextOf(around))
        visit(stage, { ...forkContext(around), input: before === undefined ? around.input : { kind: 'pipe', text } })
      }
    }
  }

  const visitCommand = (node: Command, around: ExecutionContext) => {
    const context = contextOf(around)
    for (const one of redirectionsOf(node.redirects, context))
      addMatch(checkRedirection(one, around.directory.cwd, places))
    if (node.name === undefined) return
    const names = expandWord(node.name, context)
    const args = node.args.flatMap((word) =>
      word.type === 'Word' ? expandWord(word, context) : expandAssignment(word.name, word.value, context),
    )
    const inner = { ...around, input: inputOf(node.redirects, context, around.input) }
    // A first word of several values, or of several words: each may be the name.
    if (names.length === 0) visitSimpleCommand(args, inner, [])
    if (names.length > maxNames) addMatch(tooLarge)
    for (const index of names.slice(0, maxNames).keys()) visitSimpleCommand([...names.slice(index), ...args], inner, [])
    if (budget.steps <= 0) addMatch(tooLarge)
  }

  const visitSimpleCommand = (words: readonly Field[], around: ExecutionContext, wrappers: readonly string[]): void => {
    const [first, ...args] = words
    if (first === undefined) return
    const path = literalText(first)
    if (path === undefined) {
      addMatch(requireApproval('unknown-command', 'runs a command whose name is known only when it runs'))
      // An empty variable leaves the next word as the name.
      if (startsUnknown(first) && first.length === 1) visitSimpleCommand(args, around, wrappers)
      return
    }
    if (wrappers.length > maxDepth) {
      addMatch(tooDeep)
      return
    }
    const name = path.slice(path.lastIndexOf('/') + 1)
    commands.push([path, ...args.map(sourceText)].join(' '), [name, ...args.map(sourceText)].join(' '))
    const call: SimpleCommand = {
      name,
      args,
      input: around.input,
      cwd: around.directory.cwd,
      background: around.background,
      wrappers,
    }
    for (const finding of checkSimpleCommand(call, places)) addMatch(finding)
    for (const inner of wrappedCommands(name, args)) visitSimpleCommand(inner, around, [...wrappers, name])
    for (const { shell, match } of findEmbeddedScripts(call)) {
      addMatch(match)
      if (shell !== undefined) visitText(shell, { ...around, depth: around.depth + 1 })
    }
    if (/^(?:cd|pushd|popd)$/.test(name)) around.directory.cwd = directoryAfter(name, args, around.directory.cwd)
  }

  const directoryAfter = (name: string, args: readonly Field[], now: string | undefined): string | undefined => {
    const [target] = args.filter((field) => !/^-[LPe@]+$|^--$/.test(literalText(field) ?? ''))
    if (target === undefined) return name === 'cd' ? places.userHome : undefined
    if (literalText(target) === '-') return undefined
    const path = places.toPattern(target, now)
    const parts = path?.map(literalText)
    return parts === undefined || parts.includes(undefined) ? undefined : `/${parts.join('/')}`
  }

  visitText(text, { directory: { cwd }, input, background: false, lookupVariable: variable, depth: 0 })
  return { matches, commands }
}

/** A process of its own: its `cd` does not move the others. */
function forkContext(around: ExecutionContext): ExecutionContext {
  return { ...around, directory: { ...around.directory } }
}

function expandAssignment(name: string, value: SyntaxNode, context: ExpandContext): Field[] {
  if (value.type !== 'Word') return [[textPiece(`${name}=`)]]
  return expandWord(value, context).map((field) => [textPiece(`${name}=`), ...field])
}
