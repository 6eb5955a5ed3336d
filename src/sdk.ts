/**
 * The public API (`#sdk`): everything that hooks, plugins and platforms may import of the gateway.
 *
 * Each export is deliberate. `docs/reference/sdk.md` is generated from this file and its declarations, and a test compares
 * the two, so that a change of the API shows in a review. An export that is renamed keeps its old name for one minor version.
 */

// Messages

export { type Brand, brand } from './lib/ids.ts'
export type { AcceptResult, ReadCursor } from './message/accept-result.ts'
export type { ButtonPress, MessageChange, ReactionChange } from './message/change.ts'
export type { Attachment, BackgroundTask, MessageEvent, MessageType, ParsedCommand } from './message/event.ts'
export { parseCommand } from './message/event.ts'
export type { EventKey, SessionId, SessionKey, TurnId } from './message/ids.ts'
export type {
  AlbumFile,
  AlbumResult,
  Button,
  OutboundAlbum,
  OutboundAttachment,
  OutboundMessage,
  SendFailureKind,
  SendResult,
} from './message/outbound.ts'
export { type ChatType, type SessionSource, type Target, targetOf } from './message/source.ts'
export type { AssistantMessage, ChatMessage, ToolCall, ToolMessage, Usage, UserMessage } from './message/transcript.ts'
export type { TurnResult, TurnStatus } from './message/turn-result.ts'

// Environments

export type {
  BackgroundCommand,
  Environment,
  ExecuteOptions,
  ExecuteResult,
  SpawnOptions,
} from './agent/environments/environment.ts'
export type {
  DirectoryEntry,
  EnvironmentFiles,
  FileAccess,
  FileHit,
  FileRefusal,
  FileRefusalCode,
  FileResult,
  FileSearchRequest,
  FileSearchResult,
  FileStat,
} from './agent/environments/files.ts'
export type {
  EnvironmentCheck,
  EnvironmentFactory,
  EnvironmentKind,
  EnvironmentRequest,
  PluginEnvironment,
} from './agent/environments/kind.ts'
export type {
  RemoteClient,
  RemoteCommandLine,
  RemoteCommandOptions,
  RemoteExit,
} from './agent/environments/remote-client.ts'
export type { RemoteEnvironmentOptions } from './agent/environments/remote-environment.ts'
export type { ScriptEnvironmentOptions } from './agent/environments/scripts/script-environment.ts'
export type { ReadOptions } from './agent/support/files.ts'

// Platforms

export type { ToolCallSummary, ToolView, ToolViewPart } from './message/tool-view.ts'
export type {
  AlbumLookup,
  AlbumSupport,
  AttachmentAddress,
  DiagnosticContext,
  DiagnosticResult,
  FoundChat,
  GroupableFile,
  Invitation,
  MessageLimits,
  NativeDrafts,
  PlatformAdapter,
  PlatformModule,
  TurnActivity,
} from './platforms/adapter.ts'
export { definePlatform } from './platforms/adapter.ts'
export type { PlatformAutomation, PlatformDeliveries } from './platforms/automation.ts'
export type {
  ChatEntry,
  ChatFile,
  ChatQuestion,
  ChatToolCalls,
  CommandEntry,
  FileSource,
  FileToStore,
  GatewayInfo,
  HistoryQuery,
  OpenedFile,
  OpenQuestion,
  PlatformCatchUp,
  PlatformChats,
  PlatformConnection,
  PlatformContext,
  PlatformFiles,
  PlatformGateway,
  PlatformMenu,
  PlatformQuestions,
  PlatformRecords,
  PlatformTurns,
  PressResult,
  QuestionAnswer,
} from './platforms/context.ts'
export type { HttpRoute, JsonSchema, ResponseDescription, RouteDescription } from './platforms/http-route.ts'

// Hooks

export type { HookContext, HookEventName, HookEvents, HookServices } from './message/hook-events.ts'

// Plugins

export type {
  DaemonOptions,
  LlmOptions,
  LlmResult,
  McpCallResult,
  PeriodicTask,
  PluginCommand,
  PluginCommandContext,
  PluginConfig,
  PluginContext,
  PluginLlm,
  PluginModule,
  PluginState,
  PluginTool,
  PluginToolContext,
  PromptSectionContext,
  Register,
} from './plugins/contract.ts'
export type {
  HistoryMessage,
  HookCallback,
  HookEnvelope,
  HookName,
  HookPayload,
  HookPayloads,
  HookReturn,
  HookReturns,
} from './plugins/hook-map.ts'
export type {
  MemoryConfigField,
  MemoryContext,
  MemoryDelegationContext,
  MemoryProvider,
  MemorySessionChange,
  MemorySyncContext,
  MemoryToolContext,
  MemoryToolSchema,
  MemoryTurnContext,
  MemoryWriteContext,
} from './plugins/memory-provider.ts'

// Model calls

export type { ApiMode } from './agent/models/provider.ts'
export type {
  AnthropicBlock,
  AnthropicChunk,
  AnthropicDelta,
  AnthropicImage,
  AnthropicMessage,
  AnthropicRequest,
  AnthropicResponse,
  AnthropicText,
  AnthropicToolResult,
  ChatCompletionsChunk,
  ChatCompletionsDelta,
  ChatCompletionsMessage,
  ChatCompletionsPart,
  ChatCompletionsRequest,
  ChatCompletionsResponse,
  ChatCompletionsTool,
  ChatCompletionsToolCall,
  ChatCompletionsUsage,
  ResponsesChunk,
  ResponsesItem,
  ResponsesRequest,
  ResponsesResponse,
  WireChunk,
  WireRequest,
  WireResponse,
} from './agent/models/wire-types.ts'
export type {
  LlmExecutionCall,
  LlmRequestCall,
  ModelCall,
  PluginGuardrails,
  PluginIntercepts,
  PluginMiddlewareKinds,
} from './plugins/model-call-types.ts'

// Middleware

export type {
  AnswerMode,
  Awaitable,
  EventFields,
  ExecutionOptions,
  FailureMode,
  Fields,
  GuardrailDecision,
  Guardrails,
  HermesMiddlewareKinds,
  InterceptOptions,
  Intercepts,
  LlmExecutionPayload,
  LlmRequestPayload,
  ManagedEvent,
  MiddlewareRegistrar,
  ModelCallView,
  Next,
  PendingMark,
  Registration,
  RegistrationOptions,
  RewriteResult,
  RewriteTraceEntry,
  RewrittenRequest,
  Sanitizers,
  Scope,
  ScopeSpec,
  ScopeType,
  ToolCallView,
  ToolExecutionPayload,
  ToolRequestPayload,
} from './middleware/contract.ts'
export { GuardrailRejected } from './middleware/guardrail-rejected.ts'
export type {
  ChunkCollector,
  ManagedModelCall,
  ManagedToolCall,
  Middleware,
  RewriteTrace,
  StreamedText,
} from './middleware/managed-call.ts'
export { createMiddleware, type MiddlewareDeps } from './middleware/middleware.ts'

// Errors and logs

export { isConnectError } from './lib/connect-error.ts'
export { assertNever, HermesError, isHermesError, messageOf, systemCode, toError } from './lib/errors.ts'
export type { LogEventFields, LogFields, Logger } from './lib/log.ts'

// Helpers for adapters and plugins

export { extractUsage } from './agent/models/response-json.ts'
export { createLruCache, type LruCache } from './lib/cache.ts'
export { type Coalescer, createCoalescer } from './lib/coalesce.ts'
export { findProgram } from './lib/find-program.ts'
export { findSecretRanges, type TextRange } from './lib/find-secrets.ts'
export { decodeHtmlEntities } from './lib/html-entities.ts'
export { asArray, asNumber, asRecord, asString, isRecord, isTooComplex, parseJson } from './lib/json.ts'
export { isLoopbackHost } from './lib/local-origin.ts'
export { escapeMath, isMathToken, type MarkedToken, parseMarkdown, tableHasLinks } from './lib/markdown.ts'
export { mergeRanges, replaceRanges } from './lib/redact.ts'
export { createRotatingFile, type RotatingFile, type RotatingFileOptions } from './lib/rotating-file.ts'
export { formatTable, type TableStyle, tableWidth } from './lib/text-table.ts'
export { backoffMs, type LinkedSignal, linkAbortSignal, raceAbort, sleep, withTimeout } from './lib/timers.ts'
export { type EarlierMessage, formatEarlierMessages } from './message/earlier-messages.ts'
export { createLineFilter, type ReservedLines } from './message/untrusted-text.ts'
