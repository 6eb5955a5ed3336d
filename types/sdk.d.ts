/**
 * The types of `#sdk`, generated from `src/sdk.ts` by `npm run docs`. `hermes plugins new` writes a tsconfig.json that
 * includes this file.
 */

declare module '#sdk' {
    export * from 'hermes-gateway:sdk';
}

declare module 'hermes-gateway/sdk' {
    export * from 'hermes-gateway:sdk';
}

declare module 'hermes-gateway:agent/browser/contract' {
    /**
     * What the browser tools ask of the browser. All methods reject with `BrowserFailure`, or with the reason of the signal.
     */
    import type { JsonObject } from 'hermes-gateway:lib/json';
    /** The browser of the gateway. Each conversation and each sub-agent has pages of its own in it. */
    export interface BrowserAccess {
        /** Opens nothing yet. */
        pagesOf(sessionId: string): ConversationPages;
        /** Throws `BrowserFailure` for a text that contains a secret of the gateway: a page could have asked for it. */
        checkText(text: string): void;
        /**
         * Stores a screenshot as a picture and resolves with its path. Rejects with `BrowserFailure` if it is too large.
         */
        storePicture(bytes: Uint8Array): Promise<{
            readonly path: string;
        }>;
    }
    export interface ConversationPages {
        /** Opens a page, and the browser if it is not open. */
        navigate(url: string, signal: AbortSignal): Promise<PageState & PageSnapshot>;
        /** `offset`: characters of the snapshot that are left out at its beginning. */
        snapshot(options: {
            readonly full: boolean;
            readonly offset: number;
        }, signal: AbortSignal): Promise<PageSnapshot>;
        /** `ref`: of the last snapshot, such as `@e5`. */
        click(ref: string, signal: AbortSignal): Promise<PageState>;
        /** Replaces the text of a field, or chooses an option. */
        type(ref: string, text: string, signal: AbortSignal): Promise<PageState>;
        scroll(direction: 'up' | 'down', signal: AbortSignal): Promise<PageState>;
        /** A key of Playwright: `Enter`, `Control+a`. */
        press(key: string, signal: AbortSignal): Promise<PageState>;
        back(signal: AbortSignal): Promise<PageState>;
        images(signal: AbortSignal): Promise<readonly PageImage[]>;
        /** The visible part of the page, as a PNG or, if that is large, a JPEG. */
        screenshot(signal: AbortSignal): Promise<Uint8Array>;
        /** What the page has written and thrown since it was opened, the newest at the end. */
        console(clear: boolean): PageConsole;
        /** Runs an expression in the page. Resolves with what it returns, as far as JSON can express it. */
        evaluate(expression: string, signal: AbortSignal): Promise<unknown>;
        /** Runs a method of the DevTools protocol on a page of this conversation. */
        sendCommand(command: DevToolsCommand, signal: AbortSignal): Promise<unknown>;
    }
    export interface DevToolsCommand {
        /** `Page.printToPDF`. */
        readonly method: string;
        readonly params: JsonObject;
        /** A page of `Target.getTargets`; '' for the current one. */
        readonly targetId: string;
        readonly timeoutMs: number;
    }
    /** Where the conversation is after a call. */
    export interface PageState {
        readonly url: string;
        readonly title: string;
        /** Open tabs, if there are several. The newest one is the current one. */
        readonly tabs?: number;
        /** Dialogs that the page has opened during the call. */
        readonly dialogs?: readonly {
            readonly type: string;
            readonly message: string;
        }[];
        readonly note?: string;
    }
    export interface PageSnapshot {
        readonly snapshot: string;
        /** Elements with a ref. */
        readonly elements: number;
        /** How to get the rest of a long snapshot. */
        readonly more?: string;
    }
    export interface PageImage {
        readonly src: string;
        readonly alt: string;
        readonly width: number;
        readonly height: number;
    }
    export interface PageConsole {
        readonly messages: readonly {
            readonly type: string;
            readonly text: string;
        }[];
        readonly errors: readonly string[];
    }
}

declare module 'hermes-gateway:agent/command-policy/file-guard' {
    type FileGuardResult = 
    /**
     * `path` is the real path on this machine. Use it, because a link may be changed between the check and the use. Check
     * after opening that the file is the one at this path.
     */
    {
        readonly ok: true;
        readonly path: string;
    }
    /** `reason` is a sentence for the model. */
     | {
        readonly ok: false;
        readonly code: FileDenialCode;
        readonly reason: string;
    };
    type FileDenialCode = 'secret' | 'hidden' | 'not_found' | 'protected' | 'outside_sandbox' | 'outside_safe_root' | 'is_directory' | 'not_regular_file';
    /** What the guard asks of a sandbox. */
    export interface GuardedView {
        readonly view: {
            readonly privateTmp: string | undefined;
        };
        /** The path on this machine of a path that commands see. */
        toHostPath(path: string): string;
        /** What commands may do with a real path. */
        accessOf(path: string): 'hidden' | 'readOnly' | 'writable';
        /** Why commands do not see a real path; undefined for one that they see. */
        hiddenReason(path: string): string | undefined;
    }
    export interface FileGuard {
        /**
         * `path` is absolute. `isOwner`: whether an owner causes the write; others write no file that becomes a part of prompts. Throws system
         * errors other than a missing file.
         */
        checkWrite(path: string, isOwner?: boolean): Promise<FileGuardResult>;
        /**
         * `path` is absolute. `exposed`: real paths of files below a hidden directory, or of results of the conversation, that may be read
         * all the same. Throws system errors other than a missing file.
         */
        checkRead(path: string, exposed?: () => Promise<readonly string[]>): Promise<FileGuardResult>;
        /** Returns a fast check for many files below a directory that `checkRead` allowed. It takes their real paths. */
        createReadFilter(exposed?: () => Promise<readonly string[]>): Promise<(realPath: string) => boolean>;
    }
    export interface FileGuardOptions {
        /** The directory of the gateway (`HERMES_HOME`), absolute. */
        readonly home: string;
        /** The home directory of the user, absolute. */
        readonly userHome: string;
        /** `HERMES_WRITE_SAFE_ROOT`: the only directories in which files are written, separated as in PATH. '' means no limit. */
        readonly writeSafeRoot?: string;
        /** What commands see. Undefined, also as its result: no sandbox is configured. */
        sandbox?(): Promise<GuardedView | undefined>;
    }
    /** Returns why the file tools may not read or write a file of an environment, as a clause. Takes the real path there. */
    export type PlaceGuard = (path: string, userHome: string, intent: 'read' | 'write') => string | undefined;
    /**
     * The rules for the files of another machine that is no container. It may be the machine of the gateway itself, or have a
     * gateway of its own.
     *
     * @param home the directory of the gateway (`HERMES_HOME`), absolute
     */
    export function createPlaceGuard(home: string): PlaceGuard;
    export function createFileGuard({ home, userHome, writeSafeRoot, sandbox }: FileGuardOptions): FileGuard;
    export {};
}

declare module 'hermes-gateway:agent/environments/environment' {
    /**
     * The contract of an environment in which commands run (seed 004, `BaseEnvironment`). It is small, so that a container or a
     * remote host can implement it.
     */
    import type { EnvironmentFiles } from 'hermes-gateway:agent/environments/files';
    export interface ExecuteOptions {
        /** Absolute, or relative to the directory of the environment, which is the default. */
        readonly cwd?: string;
        readonly timeoutMs: number;
        /** Kills the command and the processes that it started. */
        readonly signal: AbortSignal;
        /** Bytes of output retained. The middle of a longer output is left out, with a note. */
        readonly maxOutputBytes: number;
        /** Files below a hidden directory that the command may read. */
        readonly exposed?: readonly string[];
        /** Variables for this command alone. */
        readonly variables?: Readonly<Record<string, string>>;
        /** Runs without the sandbox. Only after a person has agreed to this command. */
        readonly outsideSandbox?: true;
    }
    export type SpawnOptions = Pick<ExecuteOptions, 'cwd' | 'exposed' | 'variables' | 'outsideSandbox'>;
    export interface ExecuteResult {
        /** stdout and stderr in their order, as text; invalid UTF-8 is replaced. */
        readonly output: string;
        /** Null when a signal killed the command. */
        readonly exitCode: number | null;
        readonly timedOut: boolean;
        readonly aborted: boolean;
    }
    /** A command that runs in the background. */
    export interface BackgroundCommand {
        readonly pid: number;
        /** Resolves when the command has exited. Never rejects. */
        readonly exited: Promise<{
            exitCode: number | null;
        }>;
        onOutput(listener: (text: string) => void): void;
        /** False when the command takes no input any more. */
        write(text: string): boolean;
        /** The input has no more text. False when it had ended. Absent where it cannot be ended. */
        endInput?(): boolean;
        kill(): void;
    }
    export interface Environment {
        /** `local`, `bwrap`, `docker`, `ssh`, `singularity`, or the name that a plugin has registered. */
        readonly kind: string;
        /** The working directory of commands and the base of relative paths. In a remote place it may begin with `~`. */
        readonly cwd: string;
        /** The files of the same place. */
        readonly files: EnvironmentFiles;
        /**
         * Commands cannot reach the machine of the gateway and its files, as in a container. Then no command needs approval; the
         * forbidden ones stay forbidden.
         */
        readonly isContainer?: boolean | undefined;
        /** Prepares the place. Rejects with `HermesError` `environment/...`. Commands and files do it themselves when needed. */
        start?(signal: AbortSignal): Promise<void>;
        /** Runs a shell command until it exits. Throws only when the command cannot be started. */
        execute(command: string, options: ExecuteOptions): Promise<ExecuteResult>;
        /**
         * Starts a command that outlives the call. Optional: without it background commands are not available. Rejects when the
         * command cannot be started.
         */
        spawn?(command: string, options: SpawnOptions): Promise<BackgroundCommand>;
        /** Whether commands run in a sandbox of this machine. Absent where the environment has its own isolation. */
        isSandboxed?(): Promise<boolean>;
        /** Kills all running commands. May be called twice. */
        cleanup(): Promise<void>;
    }
    /** Values by name; null for a variable that the next command must not have. */
    export type ExportedVariables = ReadonlyMap<string, string | null>;
    /** What the shell commands of a session leave to the next one. Held in memory: values may be secrets. */
    export interface ShellState {
        /** Where the last command ended; undefined: where the environment begins. */
        directory: string | undefined;
        /**
         * By the role of the person: an owner may export what a guest must not read, and a guest must not choose the programs that
         * run for an owner.
         */
        readonly exports: Map<string, ExportedVariables>;
    }
    /** A background command with its output. */
    export interface ProcessEntry {
        /** A short id: `proc_1`. */
        readonly id: string;
        readonly command: string;
        readonly startedAt: number;
        readonly process: BackgroundCommand;
        /** It runs without the sandbox, because an owner agreed to this command. */
        readonly outsideSandbox?: true;
        /** Returns the output since the last call, bounded. */
        takeOutput(): string;
        /** The retained output; the oldest is dropped first. */
        log(): string;
        /** Undefined while it is running. */
        exit(): {
            readonly exitCode: number | null;
            readonly at: number;
        } | undefined;
    }
    /** The background commands of one session, so that the `process` tool can list, poll and kill them. */
    export interface ProcessTable {
        add(command: string, process: BackgroundCommand, options?: Pick<ExecuteOptions, 'outsideSandbox'>): ProcessEntry;
        get(id: string): ProcessEntry | undefined;
        list(): readonly ProcessEntry[];
        /** Kills all running commands. May be called twice. */
        killAll(): void;
    }
}

declare module 'hermes-gateway:agent/environments/files' {
    /**
     * The contract of the files of an environment: what the file tools do, in the same place as the commands.
     */
    import type { ReadOptions } from 'hermes-gateway:agent/support/files';
    /** Who reads or writes. The rules of the place decide what this caller may do. */
    export interface FileAccess {
        readonly signal: AbortSignal;
        /** An owner causes the call; others write no file that becomes a part of prompts. Default: true. */
        readonly isOwner?: boolean;
        /** Files that were sent in the conversation. They lie on the disk of the gateway, wherever commands run. */
        attachments?(): Promise<readonly string[]>;
    }
    export type FileRefusalCode = 
    /** The rules of the place. */
    'secret' | 'protected' | 'hidden' | 'outside_sandbox' | 'outside_safe_root'
    /** The file. */
     | 'not_found' | 'is_directory' | 'not_regular_file' | 'too_large' | 'binary' | 'not_utf8'
    /** A link replaced a part of the path meanwhile. */
     | 'changed'
    /** The system of the place refuses, for example for lack of permission or of space. */
     | 'failed';
    export interface FileRefusal {
        readonly ok: false;
        readonly code: FileRefusalCode;
        /** A sentence for the model. */
        readonly reason: string;
    }
    export type FileResult<Value> = ({
        readonly ok: true;
    } & Value) | FileRefusal;
    export interface FileStat {
        readonly kind: 'file' | 'directory' | 'other';
        /** In bytes. */
        readonly size: number;
        /** Permission bits. */
        readonly mode: number;
    }
    export interface DirectoryEntry {
        readonly name: string;
        readonly kind: 'file' | 'directory' | 'link' | 'other';
    }
    /** A search below a directory, or in one file. */
    export interface FileSearchRequest {
        /** The path as the model wrote it. */
        readonly path: string;
        readonly target: 'content' | 'files';
        /** A regular expression for content, a glob for files. */
        readonly pattern: string;
        /** Searches only in files whose name, or whose path from `path`, matches this glob. */
        readonly fileGlob: string | undefined;
        /** For content: each line (default), each file once, or how many lines of each file. */
        readonly output?: 'lines' | 'files' | 'counts' | undefined;
        /** For lines: so many lines before and after each; they do not count as hits. Default: 0. */
        readonly context?: number | undefined;
        /** Maximum number of hits. */
        readonly limit: number;
        readonly timeoutMs: number;
    }
    /** `path` begins with the path of the request. `line` is 0 for a whole file. */
    export interface FileHit {
        readonly path: string;
        readonly line: number;
        readonly text: string;
        /** With `output: 'counts'`. */
        readonly count?: number | undefined;
        /** A line near a hit. Hits and the lines near them come in the order of the file. */
        readonly isContext?: boolean | undefined;
    }
    export type FileSearchResult = {
        readonly ok: true;
        readonly hits: readonly FileHit[];
        readonly stopped?: 'limit' | 'timeout' | 'abort';
    } | FileRefusal | {
        readonly ok: false;
        readonly code: 'invalid_pattern';
        readonly reason: string;
    };
    /**
     * Paths are as a model writes them: relative to the directory of the environment, absolute, or below `~`, the home of the
     * user in that place. Symbolic links are followed. Methods reject when the signal aborts and when the place cannot be
     * reached (`HermesError` `environment/...`); everything else is a refusal.
     */
    export interface EnvironmentFiles {
        /** The path as a command in this place may use it. It may still begin with `~`. */
        resolve(path: string): string;
        /**
         * Whether the rules of the place permit this, before anything is changed. The file may be missing. `path`: where its links lead,
         * if the place tells it.
         */
        check(path: string, intent: 'read' | 'write', access: FileAccess): Promise<FileResult<{
            readonly path?: string | undefined;
        }>>;
        /** `stat` is undefined if nothing is there. */
        stat(path: string, access: FileAccess): Promise<FileResult<{
            readonly stat: FileStat | undefined;
        }>>;
        /** A regular file of at most `maxBytes`. `length`: at most so many bytes from `offset` on, of a file of any size. */
        read(path: string, options: FileAccess & ReadOptions): Promise<FileResult<{
            readonly bytes: Buffer;
        }>>;
        /**
         * A reader sees the old or the new content. Keeps the mode, and creates missing directories. `newMode`: permission bits of a
         * file that does not exist yet.
         */
        writeAtomic(path: string, content: string | Uint8Array, access: FileAccess & {
            readonly newMode?: number;
        }): Promise<FileResult<{
            readonly created: boolean;
        }>>;
        /** Removes a file; a missing one is refused as `not_found`, a directory as `is_directory`. */
        remove(path: string, access: FileAccess): Promise<FileResult<object>>;
        /** At most `limit` entries of a directory, in the order of their names. */
        list(path: string, options: FileAccess & {
            readonly limit: number;
        }): Promise<FileResult<{
            readonly entries: readonly DirectoryEntry[];
            readonly isComplete: boolean;
        }>>;
        search(request: FileSearchRequest, access: FileAccess): Promise<FileSearchResult>;
    }
}

declare module 'hermes-gateway:agent/environments/kind' {
    /**
     * The contract of a kind of environment: what `terminal.backend` names. Plugins register kinds with `ctx.registerEnvironment`;
     * those that come with the gateway are loaded when they are configured.
     */
    import type { Logger } from 'hermes-gateway:lib/log';
    import type { Environment } from 'hermes-gateway:agent/environments/environment';
    import type { RemoteEnvironmentOptions } from 'hermes-gateway:agent/environments/remote-environment';
    import type { ScriptEnvironmentOptions } from 'hermes-gateway:agent/environments/scripts/script-environment';
    /** What an environment of one conversation is created from. */
    export interface EnvironmentRequest<Settings = Readonly<Record<string, unknown>>> {
        /** The conversation or the sub-agent. Names what the environment keeps for it. */
        readonly sessionId: string;
        /** `terminal.cwd` as configured; '' if it is not. */
        readonly cwd: string;
        /** The section `terminal` of the configuration. */
        readonly settings: Settings;
        /** The variables of the gateway. They contain secrets: see `clientVariables`. */
        readonly gatewayEnv: Readonly<Record<string, string | undefined>>;
        /**
         * The variables for a client program on this machine: the harmless ones of the gateway, and those of these names. No name
         * passes a credential of the gateway itself.
         */
        clientVariables(names: readonly string[]): Record<string, string>;
        /** The variables that commands in the environment receive: those of `terminal.env_passthrough`. */
        readonly variables: Readonly<Record<string, string>>;
        /** Names that no setting passes into an environment. */
        readonly withheld: readonly string[];
        /** The home of the gateway (`HERMES_HOME`), absolute. */
        readonly home: string;
        /** The profile whose home it is. */
        readonly profile: string;
        /** A directory of the gateway for what the kind keeps: sockets, images. It may be missing. */
        readonly stateDirectory: string;
        /** Where the files of conversations are downloaded to. */
        readonly attachmentsDirectory: string;
        /** Tells the people of the conversation what they wait for, such as the download of an image. Absent: no person waits. */
        announce?(text: string): void;
        readonly log: Logger;
    }
    /** Whether an environment can be used, for status, doctor and `config check`. */
    export type EnvironmentCheck = {
        readonly ok: true;
        readonly detail: string;
    }
    /** `code` of the error catalogue (`environment/...`). `hint` says what to do. */
     | {
        readonly ok: false;
        readonly code: string;
        readonly detail: string;
        readonly hint: string;
    };
    /** Without `files`, the file tools use `execute`: the environment then needs sh, base64 and the common programs for files. */
    export type PluginEnvironment = Omit<Environment, 'files'> & Partial<Pick<Environment, 'files'>>;
    /**
     * Creates the environment of a conversation. Cheap and without effects: the first command prepares it. An environment that a
     * client program reaches, such as `ssh`, is described by `RemoteEnvironmentOptions`; one that can only run short scripts, as
     * the HTTP API of a sandbox does, by `ScriptEnvironmentOptions`.
     */
    export type EnvironmentFactory<Settings = Readonly<Record<string, unknown>>> = (request: EnvironmentRequest<Settings>) => PluginEnvironment | RemoteEnvironmentOptions | ScriptEnvironmentOptions;
    export interface EnvironmentKind<Settings = Readonly<Record<string, unknown>>> {
        readonly create: EnvironmentFactory<Settings>;
        /** Whether the environment can be reached. Changes nothing, and takes at most about 5 s. Never rejects. */
        check?(request: Omit<EnvironmentRequest<Settings>, 'sessionId'>, signal: AbortSignal): Promise<EnvironmentCheck>;
        /** At the start of the gateway: finds or removes what an earlier process left behind. Rejections are logged. */
        recover?(request: Omit<EnvironmentRequest<Settings>, 'sessionId'>, signal: AbortSignal): Promise<void>;
    }
}

declare module 'hermes-gateway:agent/environments/remote-client' {
    /**
     * The contract of a client program that reaches another place: `docker exec`, `ssh`, `singularity exec`. See
     * `createRemoteEnvironment`, which does everything else.
     */
    import type { HermesError } from 'hermes-gateway:lib/errors';
    export interface RemoteClient {
        readonly kind: string;
        /**
         * Milliseconds that the client program may take to end after the script has ended. If it takes longer, a process in the
         * place still holds the output. Default: 150.
         */
        readonly endMs?: number;
        /**
         * Starts the container or opens the connection. Does nothing if the place is ready. Called before each command. Concurrent
         * calls share one attempt, and a call after a failed one tries again. Rejects with `HermesError` `environment/...`.
         */
        start(signal: AbortSignal): Promise<void>;
        /**
         * The command line on this machine that runs `script` with `sh -c` in the place, in any directory. stdin and stdout are
         * passed unchanged; stderr is the client's own. The script has at most 8 kB.
         */
        commandLine(script: string, options: RemoteCommandOptions): RemoteCommandLine;
        /**
         * Why the client program ended although the script did not: the container is gone, the link is lost. Undefined: a signal
         * ended the script. May ask the engine of the container, which takes some seconds at most. Never rejects.
         */
        describeFailure?(exit: RemoteExit): HermesError | undefined | Promise<HermesError | undefined>;
        /** Closes the connection, or stops the container. May be called twice, and `start` after it. */
        stop(): Promise<void>;
    }
    export interface RemoteCommandOptions {
        /** Something is written to stdin. Without it stdin is empty. */
        readonly input: boolean;
    }
    export interface RemoteCommandLine {
        /** Program first. */
        readonly argv: readonly string[];
        /** The whole environment of the client program. */
        readonly env: Readonly<Record<string, string>>;
    }
    export interface RemoteExit {
        /** The exit code of the client program. Null when a signal ended it. */
        readonly exitCode: number | null;
        readonly signal: NodeJS.Signals | null;
        /** The last 4 kB of what the client program wrote to stderr. */
        readonly stderr: string;
    }
}

declare module 'hermes-gateway:agent/environments/remote-environment' {
    import type { PlaceGuard } from 'hermes-gateway:agent/command-policy/file-guard';
    import type { Environment } from 'hermes-gateway:agent/environments/environment';
    import type { RemoteClient } from 'hermes-gateway:agent/environments/remote-client';
    export interface RemoteEnvironmentOptions {
        readonly client: RemoteClient;
        /** The working directory there: absolute, `~` or below `~`. */
        readonly cwd: string;
        /** The variables that commands receive in addition to those of the environment. */
        readonly variables?: Readonly<Record<string, string>>;
        /** See `Environment`. */
        readonly isContainer?: boolean;
        /** Whether the rules of the gateway for files hold there, as for keys and credentials. Default: unless it is a container. */
        readonly guardsFiles?: boolean;
        /** Makes files of the conversation visible there before a command that may read them. Rejects when that fails. */
        expose?(paths: readonly string[]): Promise<void>;
        /** Milliseconds between SIGTERM and SIGKILL. */
        readonly graceMs?: number;
    }
    /**
     * Nothing is reached before the first command or file.
     * @param denial why the file tools may not read or write a file there
     */
    export function createRemoteEnvironment(options: RemoteEnvironmentOptions, denial?: PlaceGuard): Environment;
}

declare module 'hermes-gateway:agent/environments/scripts/script-environment' {
    import type { PlaceGuard } from 'hermes-gateway:agent/command-policy/file-guard';
    import type { Environment } from 'hermes-gateway:agent/environments/environment';
    export interface ScriptEnvironmentOptions {
        /** The name of the kind. */
        readonly kind: string;
        /** Absolute, `~` or below `~`. */
        readonly cwd: string;
        /** The variables of every command. */
        readonly variables?: Readonly<Record<string, string>>;
        /** Default: true. See `Environment`. */
        readonly isContainer?: boolean;
        /** Prepares the place unless it is ready; called before each command. Concurrent calls must share one attempt. */
        start(signal: AbortSignal): Promise<void>;
        /**
         * Runs a script of at most 64 kB with `sh` in the place, and resolves with what it writes to stdout. It takes at most 20 s.
         * Rejects when the place did not answer; the script is then sent again, except after a `HermesError`.
         */
        runScript(script: string, signal: AbortSignal): Promise<string>;
        /** Ends the place, or lets it sleep. Called when the conversation ends. */
        stop(): Promise<void>;
        /** Waits between two attempts. Default: 500, 1,000 and 2,000. */
        readonly retryMs?: readonly number[];
    }
    /**
     * The place needs a POSIX shell, and the small programs of coreutils or busybox. Commands in the background are not
     * available. `denial`: see `RemoteEnvironmentOptions`.
     */
    export function createScriptEnvironment(options: ScriptEnvironmentOptions, denial?: PlaceGuard): Environment;
}

declare module 'hermes-gateway:agent/memory/contract' {
    /**
     * What the tool `memory` asks of the memory, and what it is answered (contract §4.6).
     */
    import type { ToolFailure } from 'hermes-gateway:agent/support/result-json';
    export type MemoryAction = 'add' | 'replace' | 'remove';
    export type MemoryTarget = 'memory' | 'user';
    export interface MemoryOperation {
        readonly action: MemoryAction;
        /** The content for `add` and `replace`. */
        readonly content?: string | undefined;
        /** A part of the entry that `replace` and `remove` change. */
        readonly old_text?: string | undefined;
    }
    export interface MemoryRequest {
        readonly target: MemoryTarget;
        /** All of them are applied, or none. At least one. */
        readonly operations: readonly MemoryOperation[];
    }
    /** What a memory provider is told. `content` is the new entry, or the one that was removed. */
    export interface MemoryChange {
        readonly action: MemoryAction;
        readonly target: MemoryTarget;
        readonly content: string;
        /** What the model named the entry by that was replaced or removed. */
        readonly metadata?: {
            readonly old_text: string;
        };
    }
    export interface MemoryFailure extends ToolFailure {
        readonly code: 'content_required' | 'old_text_required' | 'no_match' | 'ambiguous' | 'entry_too_long' | 'limit_exceeded' | 'content_blocked' | 'memory_unreadable' | 'memory_locked' | 'memory_unwritable' | 'memory_unavailable' | 'not_allowed_for_role' | 'not_approved';
        /** The beginnings of the entries that `old_text` matches. */
        readonly matches?: readonly string[];
    }
    export interface MemoryAccess {
        /** Whether an owner must allow this change. False when it would fail anyway. */
        needsApproval(request: MemoryRequest): boolean;
        /** Resolves when the change is on disk. Rejects with the signal's reason. */
        write(request: MemoryRequest, options: WriteOptions): Promise<MemoryAnswer>;
    }
    export interface WriteOptions {
        readonly isApproved: boolean;
        readonly signal: AbortSignal;
    }
    /** What the model is told. */
    export type MemoryAnswer = {
        readonly ok: true;
        readonly usage: string;
        readonly entryCount: number;
        readonly changed: boolean;
        readonly archivedCount: number;
    }
    /** `entries` only where the conversation may show them. */
     | {
        readonly ok: false;
        readonly failure: MemoryFailure;
        readonly entries?: readonly string[];
        readonly usage?: string;
    };
}

declare module 'hermes-gateway:agent/models/provider' {
    /**
     * The contract between the agent loop and a model vendor.
     *
     * A provider builds a plain request object, streams the vendor's chunks, returns the vendor's final JSON and reads both.
     * The loop, the middleware and the tests use only these plain values.
     */
    import type { JsonObject } from 'hermes-gateway:lib/json';
    import type { ReasoningEffort } from 'hermes-gateway:message/conversation-choices';
    import type { ChatMessage, ToolCall, Usage } from 'hermes-gateway:message/transcript';
    import type { ChunkCollector } from 'hermes-gateway:middleware/managed-call';
    import type { ModelRequest } from 'hermes-gateway:agent/support/model-request';
    export type ApiMode = 'chat_completions' | 'codex_responses' | 'anthropic_messages';
    export interface ToolSchema {
        readonly name: string;
        readonly description: string;
        /** JSON Schema of the arguments. */
        readonly parameters: JsonObject;
    }
    export interface RequestInput {
        readonly model: string;
        readonly system: string;
        readonly messages: readonly ChatMessage[];
        readonly tools: readonly ToolSchema[];
        readonly reasoningEffort?: ReasoningEffort;
        /** Asks for the reasoning as text, where it must be asked for. */
        readonly showsReasoning?: boolean;
        readonly maxOutputTokens?: number;
        /** The model is shown the pictures of the messages. Providers set it for models that see, and callers for any other. */
        readonly showsPictures?: boolean;
    }
    /** Text that a chunk adds, for the live view. */
    export type TextDelta = {
        readonly kind: 'text' | 'reasoning';
        readonly text: string;
    };
    /** A complete response of the model, read from the vendor's final JSON. */
    export interface ModelOutput {
        readonly text: string;
        readonly toolCalls: readonly ToolCall[];
        readonly usage: Usage;
        /** `stop`, `tool_calls`, `length`, `content_filter` or the vendor's own value. */
        readonly finishReason: string;
        /** What the model thought before it answered, where the vendor gives it as text. */
        readonly reasoning?: string;
        /** Sent back unchanged with the next request; see `AssistantMessage.providerData`. */
        readonly providerItems?: readonly unknown[];
    }
    /** US dollars per million tokens. */
    export interface ModelPrice {
        readonly input: number;
        readonly cachedInput: number;
        readonly cacheWrite: number;
        readonly output: number;
        /** Factors of a request whose input has more tokens. */
        readonly longPrompt?: {
            readonly above: number;
            readonly input: number;
            readonly output: number;
        };
    }
    export interface Provider {
        /** `openai`, `openai-responses`, `anthropic`, `demo`. */
        readonly name: string;
        readonly apiMode: ApiMode;
        readonly baseUrl: string;
        /** The known prices by name of the model, without a date at its end; `*` is any other model. */
        readonly prices?: Readonly<Record<string, ModelPrice>>;
        /** Whether the model reads pictures. Absent: none does. */
        sees?(model: string): boolean;
        /**
         * Pure: same input, same bytes (prompt caches depend on it). A picture is in it as an address, `hermes-picture:<file>`, and only
         * for models that see. Its content is read when the request is sent.
         */
        buildRequest(input: RequestInput): ModelRequest;
        /**
         * Calls the vendor once. Yields its chunks as they arrive and returns its final JSON, aggregated from the stream.
         * Throws `ModelError`. An aborted signal always throws and closes the connection; an incomplete response is never
         * returned.
         *
         * @param sessionId the conversation, for a server that wants to know it (`session_affinity_header`)
         */
        stream(request: ModelRequest, signal: AbortSignal, sessionId?: string): AsyncGenerator<JsonObject, JsonObject, void>;
        /**
         * Called after a call that failed. True: the provider refused the key, and the next call uses another one. Absent for a provider
         * with one key.
         */
        rotate?(failure: ModelError): boolean;
        /** The same provider for other work at the same time, which chooses a key of its own. Absent for a provider with one key. */
        withOwnKey?(): Provider;
        /** When the provider accepts a key again, ms; 0 when it accepts one now. Absent for a provider with one key. */
        restsUntil?(): number;
        /** Aggregates chunks that plugins have changed into the final JSON. Throws `ModelError` (`bad-response`). */
        createCollector(): ChunkCollector<JsonObject, JsonObject>;
        /** The text in a chunk; null for chunks without text. Pure. */
        parseDelta(chunk: JsonObject): TextDelta | null;
        /** Reads a final response. Throws `ModelError` (`bad-response`) for anything else. Pure. */
        parseResponse(response: JsonObject): ModelOutput;
    }
    /** The kinds differ in what the loop does next: retry after a delay, compress the conversation, or fail the turn. */
    export type ModelErrorKind = 'rate-limit' | 'overloaded' | 'network' | 'timeout' | 'auth' | 'billing' | 'context' | 'content-filter' | 'invalid-request' | 'bad-response';
    export interface ModelErrorOptions {
        readonly cause?: unknown;
        readonly status?: number | undefined;
        readonly retryAfterMs?: number | undefined;
        readonly maxTries?: number;
        readonly isLocalRefusal?: boolean;
    }
    export class ModelError extends Error {
        readonly kind: ModelErrorKind;
        /** The HTTP status, if there was one. */
        readonly status: number | undefined;
        /** The delay that the vendor requested in `retry-after`. */
        readonly retryAfterMs: number | undefined;
        /** Calls that may fail like this in a row before the failure is permanent. 1: a retry cannot succeed. */
        readonly maxTries: number;
        /** Nothing listens at the address, which belongs to this machine. */
        readonly isLocalRefusal: boolean;
        constructor(kind: ModelErrorKind, message: string, options?: ModelErrorOptions);
        get retryable(): boolean;
    }
    /** The provider did not recover while a call was retried. The turn can wait for it. */
    export class ModelOutage extends ModelError {
        /** When the calls began to fail, ms. */
        readonly since: number;
        /** The host of the provider. */
        readonly server: string;
        constructor(failure: ModelError, server: string, since: number);
    }
}

declare module 'hermes-gateway:agent/models/response-json' {
    /**
     * What the three wire formats share when the JSON of a response is built from chunks and read: merging of streamed
     * fragments, the limit on their size, and the token usage.
     */
    import { type JsonObject } from 'hermes-gateway:lib/json';
    import type { Usage } from 'hermes-gateway:message/transcript';
    export type MutableJsonObject = {
        [key: string]: unknown;
    };
    /** Adds to the number of characters kept. Throws `ModelError` (`bad-response`) when the limit is exceeded. */
    export type CountChars = (chars: number) => void;
    /** Limits the characters kept of one response, so that a model that never stops cannot fill the memory. */
    export function createResponseSizeLimit(maxChars: number): CountChars;
    /** Whether a delta contains more than white space. */
    export function hasOutput(delta: unknown): boolean;
    /**
     * Merges one streamed fragment into the object that was built so far. It knows no field names, so that undocumented
     * fields (the reasoning details of a router, the signatures of a vendor) reach the final JSON too.
     *
     * Strings are concatenated and objects merged. Array entries with an `index` are merged with the entry of that index,
     * others are appended. Everything else is replaced, but never by null. `target` is modified; `fragment` is neither
     * modified nor shared.
     */
    export function mergeDelta(target: MutableJsonObject, fragment: JsonObject, countChars: CountChars): void;
    export function isIndex(value: unknown): value is number;
    export function valuesByIndex<Value>(values: ReadonlyMap<number, Value>): Value[];
    /**
     * The token usage in a finished response or in one chunk of a stream, in any of the three wire formats; undefined where
     * there is none. Several chunks of a stream may report usage: each counts from the beginning of the stream, so the
     * largest value of each number is the final one. Never throws.
     */
    export function extractUsage(json: unknown): Usage | undefined;
}

declare module 'hermes-gateway:agent/models/wire-types' {
    /**
     * The types of requests, chunks and responses of each API mode, for plugins.
     *
     * They contain what the gateway sends and what models of the vendors respond, and are checked against the types of the
     * vendors' SDKs (`test/plugins/wire-types.test.ts`). Servers may send further fields; `asRecord` of `#sdk` reads them.
     * Objects that are passed back as a request are aliases, because an interface is not assignable to `Fields`.
     */
    import type { ModelRequest } from 'hermes-gateway:agent/support/model-request';
    import type { ApiMode } from 'hermes-gateway:agent/models/provider';
    type Json = Readonly<Record<string, unknown>>;
    /** The keys that are not sent as fields of the body. */
    type TransportKeys = {
        readonly [Key in 'extra_body' | 'extra_headers' | 'extra_query' | 'timeout']?: ModelRequest[Key];
    };
    export type ChatCompletionsRequest = TransportKeys & {
        readonly model: string;
        readonly messages: readonly ChatCompletionsMessage[];
        readonly tools?: readonly ChatCompletionsTool[];
        readonly reasoning_effort?: string;
        readonly max_completion_tokens?: number;
        readonly max_tokens?: number;
        readonly stream: true;
        readonly stream_options?: {
            readonly include_usage?: boolean;
        };
    };
    export interface ChatCompletionsMessage {
        readonly role: 'system' | 'user' | 'assistant' | 'tool';
        /** Null for an assistant that only calls tools. Parts in a message of a user with pictures. */
        readonly content: string | readonly ChatCompletionsPart[] | null;
        readonly tool_calls?: readonly ChatCompletionsToolCall[];
        /** The call that a message of the role `tool` responds to. */
        readonly tool_call_id?: string;
    }
    /** The address of a picture is `hermes-picture:<file>`, which the gateway replaces by its content, or one that a plugin has written. */
    export type ChatCompletionsPart = {
        readonly type: 'text';
        readonly text: string;
    } | {
        readonly type: 'image_url';
        readonly image_url: {
            readonly url: string;
            readonly detail?: string;
        };
    };
    export interface ChatCompletionsToolCall {
        readonly id: string;
        readonly type: 'function';
        /** `arguments` is JSON text as the model wrote it. */
        readonly function: {
            readonly name: string;
            readonly arguments: string;
        };
    }
    export interface ChatCompletionsTool {
        readonly type: 'function';
        readonly function: {
            readonly name: string;
            readonly description: string;
            readonly parameters: Json;
        };
    }
    export interface ChatCompletionsChunk {
        readonly id: string;
        readonly object: 'chat.completion.chunk';
        readonly created: number;
        readonly model: string;
        /** Empty in the chunk with the usage. */
        readonly choices: readonly {
            readonly index: number;
            readonly delta: ChatCompletionsDelta;
            readonly finish_reason: string | null;
        }[];
        readonly usage?: ChatCompletionsUsage | null;
    }
    export interface ChatCompletionsDelta {
        readonly role?: string;
        readonly content?: string | null;
        readonly refusal?: string | null;
        /** The reasoning has one of these two names. */
        readonly reasoning_content?: string | null;
        readonly reasoning?: string | null;
        readonly tool_calls?: readonly {
            readonly index: number;
            readonly id?: string;
            readonly type?: string;
            readonly function?: {
                readonly name?: string;
                readonly arguments?: string;
            };
        }[];
    }
    export type ChatCompletionsResponse = {
        readonly id: string;
        readonly object: 'chat.completion';
        readonly created: number;
        readonly model: string;
        readonly choices: readonly {
            readonly index: number;
            readonly message: {
                readonly role: 'assistant';
                readonly content: string | null;
                readonly refusal?: string | null;
                readonly reasoning_content?: string | null;
                readonly reasoning?: string | null;
                readonly tool_calls?: readonly ChatCompletionsToolCall[];
            };
            readonly finish_reason: string;
        }[];
        readonly usage?: ChatCompletionsUsage | null;
    };
    export interface ChatCompletionsUsage {
        readonly prompt_tokens: number;
        readonly completion_tokens: number;
        readonly total_tokens: number;
        readonly prompt_tokens_details?: {
            readonly cached_tokens?: number;
        } | null;
        readonly completion_tokens_details?: {
            readonly reasoning_tokens?: number;
        } | null;
    }
    export type AnthropicRequest = TransportKeys & {
        readonly model: string;
        readonly max_tokens: number;
        readonly system?: readonly AnthropicText[];
        readonly messages: readonly AnthropicMessage[];
        readonly tools?: readonly {
            readonly name: string;
            readonly description: string;
            readonly input_schema: Json;
        }[];
        readonly thinking?: {
            readonly type: 'enabled' | 'adaptive';
            readonly budget_tokens?: number;
            readonly display?: 'summarized' | 'omitted';
        };
        readonly output_config?: {
            readonly effort?: string;
        };
        readonly stream: true;
    };
    export interface AnthropicMessage {
        readonly role: 'user' | 'assistant';
        readonly content: readonly (AnthropicBlock | AnthropicImage | AnthropicToolResult)[];
    }
    export interface AnthropicText {
        readonly type: 'text';
        readonly text: string;
        readonly cache_control?: {
            readonly type: 'ephemeral';
        };
    }
    /** An address as in `ChatCompletionsPart`, or content that a plugin has written. */
    export interface AnthropicImage {
        readonly type: 'image';
        readonly source: {
            readonly type: 'url';
            readonly url: string;
        } | {
            readonly type: 'base64';
            readonly media_type: string;
            readonly data: string;
        };
        readonly cache_control?: {
            readonly type: 'ephemeral';
        };
    }
    export interface AnthropicToolResult {
        readonly type: 'tool_result';
        readonly tool_use_id: string;
        readonly content: string | readonly (AnthropicText | AnthropicImage)[];
        readonly cache_control?: {
            readonly type: 'ephemeral';
        };
    }
    /** A part of a response. Other types of parts (of the vendor's own tools) are passed on unchanged. */
    export type AnthropicBlock = AnthropicText
    /** An input that was cut off stays a text. */
     | {
        readonly type: 'tool_use';
        readonly id: string;
        readonly name: string;
        readonly input: unknown;
    } | {
        readonly type: 'thinking';
        readonly thinking: string;
        readonly signature: string;
    } | {
        readonly type: 'redacted_thinking';
        readonly data: string;
    };
    /** An event of the stream. */
    export type AnthropicChunk = {
        readonly type: 'message_start';
        readonly message: AnthropicResponse;
    } | {
        readonly type: 'content_block_start';
        readonly index: number;
        readonly content_block: AnthropicBlock;
    } | {
        readonly type: 'content_block_delta';
        readonly index: number;
        readonly delta: AnthropicDelta;
    } | {
        readonly type: 'content_block_stop';
        readonly index: number;
    } | {
        readonly type: 'message_delta';
        readonly delta: {
            readonly stop_reason: string | null;
            readonly stop_sequence: string | null;
        };
        readonly usage: {
            readonly output_tokens: number;
        };
    } | {
        readonly type: 'message_stop';
    } | {
        readonly type: 'ping';
    };
    export type AnthropicDelta = {
        readonly type: 'text_delta';
        readonly text: string;
    } | {
        readonly type: 'input_json_delta';
        readonly partial_json: string;
    } | {
        readonly type: 'thinking_delta';
        readonly thinking: string;
    } | {
        readonly type: 'signature_delta';
        readonly signature: string;
    } | {
        readonly type: 'citations_delta';
        readonly citation: unknown;
    };
    export type AnthropicResponse = {
        readonly id: string;
        readonly type: 'message';
        readonly role: 'assistant';
        readonly model: string;
        readonly content: readonly AnthropicBlock[];
        readonly stop_reason: string | null;
        readonly stop_sequence: string | null;
        readonly usage: {
            readonly input_tokens: number;
            readonly output_tokens: number;
            readonly cache_creation_input_tokens?: number | null;
            readonly cache_read_input_tokens?: number | null;
        };
    };
    export type ResponsesRequest = TransportKeys & {
        readonly model: string;
        readonly instructions?: string;
        /** Messages, calls, results and the vendor's own items. */
        readonly input: readonly unknown[];
        readonly tools?: readonly {
            readonly type: 'function';
            readonly name: string;
            readonly description: string;
            readonly parameters: Json;
            readonly strict: boolean;
        }[];
        readonly reasoning?: {
            readonly effort?: string;
            readonly summary?: 'auto' | 'concise' | 'detailed';
        };
        readonly max_output_tokens?: number;
        readonly store: boolean;
        readonly include?: readonly string[];
        readonly stream: true;
    };
    /** An event of the stream. There are more types, which are passed on unchanged. */
    export type ResponsesChunk = {
        readonly type: 'response.created' | 'response.in_progress';
        readonly response: ResponsesResponse;
    } | {
        readonly type: 'response.output_item.added' | 'response.output_item.done';
        readonly output_index: number;
        readonly item: ResponsesItem;
    } | {
        readonly type: 'response.output_text.delta' | 'response.refusal.delta';
        readonly item_id: string;
        readonly output_index: number;
        readonly content_index: number;
        readonly delta: string;
    } | {
        readonly type: 'response.function_call_arguments.delta' | 'response.reasoning_summary_text.delta';
        readonly item_id: string;
        readonly output_index: number;
        readonly delta: string;
    } | {
        readonly type: 'response.completed' | 'response.incomplete' | 'response.failed';
        readonly response: ResponsesResponse;
    };
    export interface ResponsesItem {
        /** `message`, `function_call`, `reasoning` … */
        readonly type: string;
    }
    export type ResponsesResponse = {
        readonly id: string;
        readonly object: 'response';
        readonly model: string;
        readonly status?: string;
        readonly output: readonly ResponsesItem[];
        readonly usage?: {
            readonly input_tokens: number;
            readonly output_tokens: number;
            readonly total_tokens: number;
        } | null;
    };
    interface WireTypes {
        readonly chat_completions: {
            readonly request: ChatCompletionsRequest;
            readonly chunk: ChatCompletionsChunk;
            readonly response: ChatCompletionsResponse;
        };
        readonly anthropic_messages: {
            readonly request: AnthropicRequest;
            readonly chunk: AnthropicChunk;
            readonly response: AnthropicResponse;
        };
        readonly codex_responses: {
            readonly request: ResponsesRequest;
            readonly chunk: ResponsesChunk;
            readonly response: ResponsesResponse;
        };
    }
    /** The request of a model, by API mode; without a mode, of any mode. */
    export type WireRequest<Mode extends ApiMode = ApiMode> = WireTypes[Mode]['request'];
    /** A chunk of a streamed response. `'choices' in chunk` is true for `chat_completions`; the others have a `type`. */
    export type WireChunk<Mode extends ApiMode = ApiMode> = WireTypes[Mode]['chunk'];
    /** A complete response. */
    export type WireResponse<Mode extends ApiMode = ApiMode> = WireTypes[Mode]['response'];
    export {};
}

declare module 'hermes-gateway:agent/support/files' {
    export type ReadTextFileResult = 
    /** `lossless`: decoding lost nothing, so that the text may be written back. */
    {
        readonly ok: true;
        readonly text: string;
        readonly lossless: boolean;
    } | ReadFileFailure;
    /** `reason` is a sentence for the model. */
    type ReadFileFailure = {
        readonly ok: false;
        readonly code: 'not_found' | 'is_directory' | 'not_regular_file' | 'too_large' | 'binary' | 'changed';
        readonly reason: string;
    };
    /**
     * Reads a regular file; invalid UTF-8 becomes U+FFFD. See `readFileBytes`, which this extends.
     */
    export function readTextFile(path: string, displayName: string, maxBytes: number): Promise<ReadTextFileResult>;
    /** The text of a file. A NUL in the first 8 kB makes it a binary file. */
    export function decodeText(bytes: Buffer, displayName: string): ReadTextFileResult;
    /**
     * Reads a regular file, or `length` bytes of it. `path` is a real path, and the file is not read when a link has replaced a
     * part of it meanwhile. `displayName` is its name in messages. Throws system errors other than ENOENT and ENOTDIR.
     */
    export function readFileBytes(path: string, displayName: string, options: ReadOptions): Promise<{
        readonly ok: true;
        readonly bytes: Buffer;
    } | ReadFileFailure>;
    export function isDirectory(displayName: string): {
        readonly ok: false;
        readonly code: 'is_directory';
        readonly reason: string;
    };
    export function tooLarge(displayName: string, size: number, maxBytes: number): {
        readonly ok: false;
        readonly code: 'too_large';
        readonly reason: string;
    };
    /**
     * Replaces a file atomically: a reader sees the old or the new text. Keeps its mode and creates missing directories. `path`
     * is a real path; nothing is written when a link has replaced a part of it meanwhile. Throws system errors.
     * @param newMode of a file that does not exist yet, before the umask
     */
    export function writeFileAtomic(path: string, text: string | Uint8Array, newMode?: number): Promise<{
        created: boolean;
    }>;
    /** Removes the file at a real path; its directory exists. Throws system errors. */
    export function removeFile(path: string): Promise<void>;
    export type ReadOptions = {
        readonly maxBytes: number;
    } | {
        readonly offset: number;
        readonly length: number;
    };
    export {};
}

declare module 'hermes-gateway:agent/support/model-request' {
    /**
     * What is sent to a provider.
     */
    /**
     * The request of one attempt: exactly what goes over the wire as JSON, except for the four transport keys:
     * `extra_body` is merged into the body, `extra_headers` and `extra_query` are sent as such, `timeout` is in seconds.
     */
    export interface ModelRequest {
        readonly model: string;
        readonly stream: true;
        readonly extra_body?: Readonly<Record<string, unknown>>;
        readonly extra_headers?: Readonly<Record<string, string>>;
        readonly extra_query?: Readonly<Record<string, string>>;
        readonly timeout?: number;
        readonly [key: string]: unknown;
    }
}

declare module 'hermes-gateway:agent/support/result-json' {
    /**
     * Formats tool results as JSON strings of limited length.
     */
    import { type JsonObject } from 'hermes-gateway:lib/json';
    /**
     * Replaces the middle of a long text by a line with the number of characters left out. Never splits a surrogate pair, nor a word:
     * it may be a secret, of which a part would not be found later.
     */
    export function truncateMiddle(text: string, maxChars: number): string;
    /**
     * Serializes a result. When the JSON is longer than `maxChars`, truncates the middle of the text in `field` until it fits,
     * so that the result stays valid JSON.
     */
    export function toResultJson<Value extends Readonly<Record<string, unknown>>>(value: Value, maxChars: number, field?: keyof Value & string): string;
    /** How long the result of a tool may be. */
    export function storedCharsOf(limits: {
        readonly maxResultChars: number;
        readonly maxStoredChars?: number;
    }): number;
    /** Why a tool could not do its work: a stable code for programs, and a sentence for the model. */
    export interface ToolFailure {
        readonly code: string;
        readonly reason: string;
    }
    /** The result of a tool that could not do its work. */
    export function toErrorJson({ code, reason }: ToolFailure, more?: Readonly<Record<string, unknown>>): string;
    /**
     * One line for people about the result of a tool. `summarize` is that of the tool; without it, or when it throws or has nothing to
     * say, the line is made of the fields of the result. Never throws.
     */
    export function summarizeResult(text: string, summarize?: (value: JsonObject) => string | undefined): string;
    /** The first line with a text, and how many lines there are. */
    export function lineOf(text: string): string;
    /** Lines of a text. A line break at its end does not start another one. */
    export function lineCount(text: string): number;
    /** `+3 -1`: the lines that a unified diff adds and removes. '' for a diff that was cut, and for what is none. */
    export function diffCount(diff: unknown): string;
    /** `1 match`, `2 matches`. */
    export function countOf(noun: string, count: number): string;
}

declare module 'hermes-gateway:agent/support/subagent-result' {
    /**
     * What a sub-agent is, and what it returns.
     */
    /** `orchestrator`: it may start sub-agents itself, as far as `delegation.max_spawn_depth` permits. */
    export type SubagentRole = 'leaf' | 'orchestrator';
    /** `failed`: it did not finish or returned no text. `error`: it threw; the summary contains the reason. */
    export interface SubagentResult {
        readonly status: 'completed' | 'failed' | 'interrupted' | 'error';
        readonly summary: string;
        /** Whether the answer matches the schema of the task; absent without a schema. */
        readonly schemaValid?: boolean;
        /** The answer as JSON; absent unless it matches. */
        readonly output?: unknown;
        /** What it did not get of what was asked for. */
        readonly note?: string;
    }
}

declare module 'hermes-gateway:agent/support/todo-list' {
    /**
     * The list of steps of the `todo` tool: what a call makes of it. The transcript keeps the calls, so that a list can be restored.
     */
    import { z } from 'zod';
    export const todoArguments: z.ZodObject<{
        todos: z.ZodOptional<z.ZodArray<z.ZodObject<{
            id: z.ZodString;
            content: z.ZodOptional<z.ZodString>;
            status: z.ZodOptional<z.ZodEnum<{
                cancelled: "cancelled";
                completed: "completed";
                in_progress: "in_progress";
                pending: "pending";
            }>>;
        }, z.core.$strip>>>;
        merge: z.ZodOptional<z.ZodBoolean>;
    }, z.core.$strip>;
    export type TodoCall = z.output<typeof todoArguments>;
    export type TodoChange = {
        readonly ok: true;
        readonly items: readonly TodoItem[];
    }
    /** `reason` is a sentence for the model. The list stays as it is. */
     | {
        readonly ok: false;
        readonly code: 'duplicate_id' | 'missing_content' | 'too_many';
        readonly reason: string;
    };
    /**
     * The list after a call. With `merge`, a step with a known id takes what the call gives for it, and a new one comes last
     * (Hermes Agent, `todo_tool`); otherwise the steps of the call replace the list.
     */
    export function applyTodoCall(current: readonly TodoItem[], { todos, merge }: Pick<TodoCall, 'todos' | 'merge'>): TodoChange;
    /**
     * The list that a `todo` call wrote, which may change the `earlier` one; null for a call that wrote none. `json`: the arguments
     * of the call, or its result.
     */
    export function readTodoCall(json: string, earlier: readonly TodoItem[]): readonly TodoItem[] | null;
    export interface TodoItem {
        readonly id: string;
        readonly content: string;
        readonly status: 'pending' | 'in_progress' | 'completed' | 'cancelled';
    }
    export interface TodoStore {
        read(): readonly TodoItem[];
        write(items: readonly TodoItem[]): void;
    }
}

declare module 'hermes-gateway:agent/tools/tool' {
    /**
     * The contract of a tool: a function the model may call.
     */
    import type { z } from 'zod';
    import type { JsonObject } from 'hermes-gateway:lib/json';
    import type { Logger } from 'hermes-gateway:lib/log';
    import type { Authority } from 'hermes-gateway:message/authority';
    import type { ImagePart } from 'hermes-gateway:message/transcript';
    import type { Transaction } from 'hermes-gateway:store/query';
    import type { BrowserAccess } from 'hermes-gateway:agent/browser/contract';
    import type { Environment, ProcessEntry, ProcessTable, ShellState } from 'hermes-gateway:agent/environments/environment';
    import type { MemoryAccess } from 'hermes-gateway:agent/memory/contract';
    import type { SubagentResult, SubagentRole } from 'hermes-gateway:agent/support/subagent-result';
    import type { TodoStore } from 'hermes-gateway:agent/support/todo-list';
    /**
     * `pure`: only reads; runs again after a crash. `idempotent`: running twice equals running once.
     * `effect`: never runs twice; after a crash its result is reported as unknown.
     */
    export type ToolMode = 'pure' | 'idempotent' | 'effect';
    export interface ToolContext {
        readonly sessionId: string;
        readonly turnId: string;
        readonly callId: string;
        readonly signal: AbortSignal;
        readonly log: Logger;
        /** Whose turn it is. A sub-agent has the authority of its parent. */
        readonly authority: Authority;
        /** Paths of the downloaded files of this conversation. The sandbox hides the files of other conversations. */
        attachments(): Promise<readonly string[]>;
        /** The pictures of this conversation that models can be shown. Absent: there are none. */
        pictures?(): Promise<readonly ConversationPicture[]>;
        /** Runs commands; its directory is the base of relative paths. */
        readonly environment: Environment;
        readonly processes: ProcessTable;
        /** Stores a long result as a file, and returns what the model gets of it. Absent where nothing is stored. */
        storeResult?(result: string): Promise<string>;
        /** What the last command has left to this one. Absent: nothing. */
        readonly shell?: ShellState;
        /** Stores where the next command begins, for a restart of the gateway; null: where the environment begins. */
        storeDirectory?(directory: string | null): ResultWrite;
        /** Called before files are changed. Absent where no checkpoints are taken. Rejects only with the reason of the signal. */
        beforeChange?(change: UpcomingChange): Promise<void>;
        /** Reports news of background commands to the conversation. Absent where no message can come later. */
        readonly commandWatches?: CommandWatches;
        /** The agent's list of steps. The `todo` tool replaces or changes it. */
        readonly todos: TodoStore;
        readonly limits: ToolLimits;
        /** The folder of a conversation whose user sees changes of files before they are made. Absent: no one is asked. */
        readonly asksBeforeEdits?: string;
        /** A user, or the configuration, allowed this call with these arguments here. Only set for tools with `approval`. */
        readonly isApproved?: boolean;
        /** Asks the user of the turn; absent where there is none. */
        readonly askUser?: AskUser;
        /** Runs sub-agents; absent where they are not available. */
        readonly delegate?: Delegate;
        /** Starts sub-agents that go on after the turn; absent where `delegate` is. */
        readonly delegateInBackground?: DelegateInBackground;
        /** Messages to other chats; absent where none can be sent. */
        readonly chatMessages?: ChatMessages;
        /** Sends a file that the tool has made to the person who waits for the turn; absent without one. */
        readonly showFile?: (file: {
            readonly path: string;
            readonly isVoice: boolean;
        }) => Promise<ResultWrite>;
        /** Reads earlier conversations; absent where there are none. */
        readonly recall?: SessionRecall;
        /** The memory for all later conversations; absent outside of sessions. */
        readonly memory?: () => Promise<MemoryAccess>;
        /**
         * Runs another tool as the model would call it: plugins, policy, approvals and the ceiling of the role apply. Resolves with its
         * result, which describes a failure. Absent outside of turns.
         */
        readonly callTool?: (name: string, args: JsonObject, signal: AbortSignal) => Promise<string>;
        /** The web; absent where there is none. */
        readonly web?: () => Promise<WebAccess>;
        /** Makes and changes scheduled jobs; absent where there are none. Rejects `store/...`, and with the reason of the signal. */
        readonly scheduleJob?: ScheduleJob;
        /** The browser; absent where there is none. */
        readonly browser?: () => Promise<BrowserAccess>;
        /** Shows the model a stored picture with the result of this call. Absent: the model does not see. */
        showPicture?(image: ImagePart): void;
        /** Whether the person may read files of the machine here, and not those of the conversation alone. Only with `vision`. */
        mayReadFiles?(): Promise<boolean>;
        /** A model that sees; absent where there is none. */
        readonly vision?: () => Promise<VisionAccess>;
        /**
         * Stores something in the transaction that stores the result of this call, so that both are stored or neither. The last
         * write of a call counts, and none of a call that fails.
         */
        writeWithResult?(write: ResultWrite): void;
    }
    /** What a tool is about to do to files. */
    export interface UpcomingChange {
        readonly tool: string;
        /** Absolute paths in the place of the environment: files, or the folder of a command. */
        readonly paths: readonly string[];
        /** The command of `terminal`. */
        readonly command?: string;
        /** The paths are folders in which anything may change. Default: with a command. */
        readonly areDirectories?: boolean;
    }
    /** Messages about background commands. */
    export interface CommandWatches {
        /** The write belongs to the result of the call that has started the command. A refusal is for the model. */
        start(entry: ProcessEntry, wanted: WatchedNews): Awaitable<{
            readonly write: ResultWrite;
        } | {
            readonly refusal: string;
        }>;
        /**
         * The caller is about to tell the agent about this command. `told` is the write of a result that contains its end;
         * `release` when the result does not. Undefined for a command that is not watched.
         */
        claim(entry: ProcessEntry): Promise<{
            told(): ResultWrite;
            release(): void;
        } | undefined>;
    }
    type Awaitable<Value> = Value | Promise<Value>;
    export interface WatchedNews {
        readonly onComplete: boolean;
        /** Texts in a line of the output. */
        readonly patterns: readonly string[];
    }
    /** Searches the web and reads its pages. Both reject with an `Error` whose message is for the model, or the signal's reason. */
    export interface WebAccess {
        search(query: string, limit: number, signal: AbortSignal): Promise<readonly {
            readonly title: string;
            readonly url: string;
            readonly description: string;
        }[]>;
        /** One result for each address. */
        read(urls: readonly string[], signal: AbortSignal): Promise<readonly WebPage[]>;
    }
    /** Looks at pictures. Rejects with the signal's reason, or as a managed call when a plugin or a guardrail rejects it. */
    export interface VisionAccess {
        /** `canShow`: the asking model sees, so that it may get the picture instead of an answer. */
        analyze(request: PictureRequest, canShow: boolean, signal: AbortSignal): Promise<PictureAnswer | PictureProblem | {
            readonly image: ImagePart;
        }>;
    }
    export interface PictureQuestion {
        readonly question: string;
        /** The part of the picture that matters, in words; '' for all of it. */
        readonly region: string;
    }
    /** A path is real, and this conversation may read it. */
    export type PictureRequest = PictureQuestion & ({
        readonly path: string;
    } | {
        readonly url: string;
    });
    export interface PictureAnswer {
        readonly text: string;
        /** The model that answered. */
        readonly model: string;
    }
    /** For the model. */
    export interface PictureProblem {
        readonly code: string;
        readonly reason: string;
    }
    export interface WebPage {
        readonly url: string;
        /** '' for none. */
        readonly title: string;
        /** Markdown; '' if the page could not be read. */
        readonly content: string;
        /** Why there is no content. */
        readonly error?: string;
        /** What the content is, if it is not the whole page. */
        readonly note?: string;
    }
    export interface ConversationPicture {
        readonly path: string;
        readonly image: ImagePart;
    }
    /** A part of the transaction that stores the result of a call. */
    export interface ResultWrite {
        /** May be called again when the transaction is repeated. */
        write(now: number): Transaction<void>;
        /** Called when the transaction is stored. */
        committed(): void;
        /** Called when it has failed for good. */
        rolledBack(): void;
    }
    /** Resolves with the jobs as `cron/jobs.json` shows them, shortened, or with why nothing was done: a sentence for the model. */
    export type ScheduleJob = (action: JsonObject, signal: AbortSignal) => Promise<{
        readonly jobs: readonly JsonObject[];
    } | {
        readonly problem: string;
    }>;
    /** Sends messages to other chats for the person who caused the turn. */
    export interface ChatMessages {
        /**
         * Prepares a message; `write` stores it, and is absent for a target that is a file. `problem` says why it cannot be sent.
         * Rejects `store/…`, or with the signal's reason.
         */
        prepare(message: {
            readonly target: string;
            readonly text: string;
            readonly media: readonly string[];
        }, signal: AbortSignal): Promise<{
            readonly write?: ResultWrite;
            readonly target: string;
            readonly name?: string;
            readonly path?: string;
            readonly note?: string;
        } | {
            readonly problem: string;
        }>;
        /** The targets to which messages may be sent. */
        list(signal: AbortSignal): Promise<readonly MessageTarget[]>;
    }
    /**
     * Reads the earlier conversations that the person who caused the turn may see. Rejects with an `Error` that says what failed,
     * and with the reason of the signal.
     */
    export type SessionRecall = (request: RecallRequest, signal: AbortSignal) => Promise<RecallResult>;
    export type RecallRequest = 
    /** The sessions with messages that match, one for each conversation. `roles` with commas. */
    {
        readonly kind: 'discover';
        readonly query: string;
        readonly roles: string;
        readonly sort: 'relevance' | 'newest' | 'oldest';
        readonly limit: number;
    }
    /** The latest sessions. */
     | {
        readonly kind: 'browse';
        readonly limit: number;
    }
    /** The messages around one, `window` on each side; null: the beginning and the end of the session. */
     | {
        readonly kind: 'read';
        readonly session: string;
        readonly around: number | null;
        readonly window: number;
    };
    export type RecallResult = {
        readonly kind: 'discover';
        readonly results: readonly RecallHit[];
        /** Not all messages were searched, because that takes too long. */
        readonly isPartial: boolean;
    } | {
        readonly kind: 'browse';
        readonly sessions: readonly RecalledSession[];
    } | {
        readonly kind: 'read';
        readonly session: RecalledSession;
        readonly view: RecalledWindow;
        readonly end: readonly RecalledMessage[];
    }
    /** There is no such session or message that the person may see. */
     | {
        readonly kind: 'absent';
    };
    export interface RecalledSession {
        readonly session: string;
        /** '' for none. */
        readonly title: string;
        readonly source: string;
        /** ms since 1970, as all times here. */
        readonly startedAt: number;
        readonly lastActive: number;
        readonly messages: number;
        /** The beginning of the first message. */
        readonly preview: string;
    }
    export interface RecalledMessage {
        readonly id: number;
        readonly role: string;
        /** The beginning of a long text. */
        readonly content: string;
        /** The length of the whole text, in characters. */
        readonly length: number;
        readonly at: number;
        readonly toolName?: string | undefined;
        /** JSON of the calls. */
        readonly toolCalls?: string | undefined;
    }
    /** Messages around an anchor; `before` and `after` count them without it. */
    export interface RecalledWindow {
        readonly rows: readonly RecalledMessage[];
        readonly before: number;
        readonly after: number;
    }
    /** The best match of a conversation, with the messages around it and at the ends of its session. */
    export interface RecallHit extends RecalledSession {
        /** The session with which the conversation began that goes on in this one. */
        readonly root: string;
        readonly role: string;
        /** The id of the message. */
        readonly hit: number;
        /** The matching part, with the words between « and »; '' for a text that the index cannot find. */
        readonly snippet: string;
        readonly view: RecalledWindow;
        readonly start: readonly RecalledMessage[];
        readonly end: readonly RecalledMessage[];
    }
    export interface MessageTarget {
        /** `<platform>:<chat_id>[:<thread_id>]` */
        readonly target: string;
        readonly kind: 'origin' | 'home' | 'known' | 'channel';
        readonly name?: string;
    }
    /** Waits until the user has answered or the question has expired. Rejects with the signal's reason when it aborts. */
    export type AskUser = (question: UserQuestion, signal: AbortSignal) => Promise<UserResponse>;
    export interface UserQuestion {
        readonly question: string;
        /** Empty: any answer. The user may give another answer than these. */
        readonly choices: readonly string[];
        /** Several choices may be chosen. */
        readonly multiSelect: boolean;
    }
    /** `response` is a choice, or the text of the user; with `multiSelect` a list of choices, or a text. */
    export type UserResponse = {
        readonly kind: 'answered';
        readonly response: string | readonly string[];
    } | {
        readonly kind: 'unanswered';
    }
    /** No user follows the turn. */
     | {
        readonly kind: 'unattended';
    };
    /**
     * Runs all tasks in parallel and returns their results in the order of the tasks. When the signal aborts, it aborts all
     * sub-agents and rejects with the signal's reason. Rejects with `DelegationRefused` before any of them has started.
     */
    export type Delegate = (tasks: readonly SubagentTask[], signal: AbortSignal) => Promise<readonly SubagentResult[]>;
    /** Resolves with one sub-agent for each task once all are stored. Rejects with `DelegationRefused`, or as the inbox. */
    export type DelegateInBackground = (tasks: readonly SubagentTask[]) => Promise<readonly StartedSubagent[]>;
    export interface SubagentTask {
        readonly goal: string;
        /** '' for none. */
        readonly context: string;
        /** Absent: `delegation.default_toolsets`. */
        readonly toolsets?: readonly string[];
        /** Absent: `leaf`. */
        readonly role?: SubagentRole;
        /** Absent: `delegation.model`, or the model of the turn. */
        readonly model?: string;
        /** Paths of pictures. */
        readonly images?: readonly string[];
        /** A JSON Schema that the answer must match. */
        readonly outputSchema?: JsonObject;
    }
    export interface StartedSubagent {
        readonly id: string;
        /** What it does not get of what was asked for; '' for nothing. */
        readonly note: string;
    }
    /** The tasks cannot be given to sub-agents. None was started. The message is for the model. */
    export class DelegationRefused extends Error {
        readonly code: string;
        constructor(code: string, message: string);
    }
    /** Why a call may run only after a user has allowed it. */
    export interface ApprovalNeed {
        /**
         * `plugin`: a plugin requires it; `policy`: the tool itself does, and the configuration may settle it (`approvals.mode`);
         * `conversation`: its user has chosen to be asked.
         */
        readonly source: 'plugin' | 'policy' | 'conversation';
        /** The rule that requires it: `remove-recursive`. */
        readonly ruleKey: string;
        /** For the user, '' for none: one sentence. */
        readonly reason: string;
        /** The text that runs; by default the arguments are shown. */
        readonly command?: string;
        /** What would change in files, in place of the arguments. `diff`: hunks of a unified diff. */
        readonly changes?: readonly {
            readonly path: string;
            readonly kind: 'create' | 'change' | 'delete';
            readonly diff: string;
        }[];
        /** Where it runs, for the user; a part of what an answer holds for. '' for tools without a place. */
        readonly place: string;
        /** `call`: each call is asked; `session`: the answer may hold for the conversation; `always`: for ever. */
        readonly remember: 'call' | 'session' | 'always';
        /** The calls that a remembered answer covers, as an entry of `command_allowlist`. */
        readonly shape?: string;
        /** No configuration settles it, and only an owner may answer. */
        readonly ownerOnly?: boolean;
    }
    export interface ToolLimits {
        /** What the model gets of a result at most. */
        readonly maxResultChars: number;
        /**
         * A longer result is truncated by the tool, in the middle and with a note. What is longer than `maxResultChars` is stored as
         * a file. Absent: nothing is stored, and `maxResultChars` counts.
         */
        readonly maxStoredChars?: number;
    }
    /**
     * What is known of a tool without its code. Those of the built-in tools stand in `built-in-tools.ts`; the tool of a plugin that
     * replaces a built-in one has the same unless it says otherwise.
     */
    export interface ToolFacts {
        readonly name: string;
        /** The toolset by which configuration disables it: `terminal`, `file`, `todo` … */
        readonly toolset: string;
        /**
         * Whether calls may run at the same time as others of this kind; absent: each runs alone. Not for a tool with `approval`: two
         * questions would confuse.
         */
        readonly runsInParallel?: boolean | FileUse | undefined;
        /** Tools that do a part of what this one can: where one of them is not permitted or not offered, this one is not either. */
        readonly requires?: readonly string[] | undefined;
        /** Offered only where a list of toolsets names the tool or its toolset: `all` is not enough. */
        readonly isOptional?: boolean | undefined;
        /** Toolsets that have all tools, or all for code, but not this one: `hermes-acp`. */
        readonly leftOutOf?: readonly string[] | undefined;
        /** The turns in which it has no use, each with the reason for the model. */
        readonly uselessIn?: Readonly<Partial<Record<TurnKind, string>>> | undefined;
        /** Alone, without tools that do something, it is not offered. */
        readonly servesOthers?: boolean | undefined;
        /** No sub-agent gets it. */
        readonly isWithheldFromSubagents?: boolean | undefined;
        /** How it acts on the machine itself where no sandbox stands between: then only owners may cause it. */
        readonly machine?: 'changes' | 'runs-commands' | undefined;
        /** Its arguments in the order of Hermes' function, by which a script of `execute_code` may call it. */
        readonly scriptArguments?: readonly string[] | undefined;
    }
    /** Calls run at the same time unless one of them writes what another one uses. */
    export interface FileUse {
        readonly writes: boolean;
        /** The path that a call uses; anything but a text if it is not known. */
        path(args: JsonObject): unknown;
    }
    /** `background`: a task, not a message; `scheduled`: by a job; `unattended`: no one waits; `unanswerable`: no one can be asked. */
    export type TurnKind = 'background' | 'scheduled' | 'unattended' | 'unanswerable';
    /** What a tool does. */
    export interface ToolCode<Schema extends z.ZodType = z.ZodType> extends Pick<ToolFacts, 'name' | 'isOptional'> {
        readonly description: string;
        /** `run` receives the parsed, typed arguments. Unknown keys are dropped with a warning. */
        readonly parameters: Schema;
        /** The JSON Schema that the model receives; derived from `parameters` by default. */
        readonly jsonSchema?: JsonObject;
        /** `parameters` takes arguments that `jsonSchema` does not show, because each request contains it. */
        readonly acceptsUndescribed?: true;
        readonly mode: ToolMode | ((args: z.output<Schema>) => ToolMode);
        /** Whether the tool is available (a program is installed, a key is set). `false` hides it from the model. */
        check?(): boolean | Promise<boolean>;
        /**
         * What the call works on, for the user: `ls -la`, `README.md`. Without it only the name is shown. Return the whole text: the
         * gateway takes secrets out of it before it makes one short line of it.
         */
        label?(args: z.output<Schema>): string;
        /**
         * What came of the call, for the user, in a few words: `exit 1, 12 lines`. `result` is the parsed object that `run` returned, or
         * what a plugin made of it. Not called for errors. Must be fast; when it throws or returns '', the gateway writes a line itself.
         */
        summarize?(result: JsonObject, args: z.output<Schema>): string;
        /**
         * Whether a user must allow this call; undefined lets it run. Judged on the arguments with which the tool would run, and
         * again when a plugin changes them later. `run` must refuse a call that needs approval without `context.isApproved`.
         */
        approval?(args: z.output<Schema>, context: ToolContext): ApprovalNeed | Promise<ApprovalNeed | undefined> | undefined;
        /**
         * Does the work and returns a JSON string. May throw: the model then receives `{"error": …}` (at most 2,048 characters).
         * Must return soon after `context.signal` aborts.
         */
        run(args: z.output<Schema>, context: ToolContext): Promise<string>;
    }
    export interface ToolDefinition<Schema extends z.ZodType = z.ZodType> extends ToolFacts, ToolCode<Schema> {
        readonly isOptional?: boolean | undefined;
    }
    /** Types a tool with its facts. */
    export function defineTool<Schema extends z.ZodType>(definition: ToolDefinition<Schema>): ToolDefinition<Schema>;
    /** Types what a built-in tool does. */
    export function defineToolCode<Schema extends z.ZodType>(code: ToolCode<Schema>): ToolCode<Schema>;
    export {};
}

declare module 'hermes-gateway:lib/coalesce' {
    /**
     * Runs work that depends only on the latest state, such as saving it: one run at a time, and one further run for all changes
     * during a run.
     */
    export interface Coalescer {
        /** Calls `run` now, or once after the current run. */
        schedule(): void;
        /** Resolves when no run is active or scheduled. */
        idle(): Promise<void>;
    }
    /** @param onError receives the error of a run that rejected. The next change runs it again. */
    export function createCoalescer(run: () => Promise<void>, onError: (error: unknown) => void): Coalescer;
}

declare module 'hermes-gateway:lib/connect-error' {
    /**
     * Returns true if no connection was made, false if one was made or if it is unknown. Supports the errors of Node and
     * `fetch`, also wrapped by libraries as `cause` or `original`. Never throws.
     */
    export function isConnectError(thrown: unknown): boolean;
}

declare module 'hermes-gateway:lib/error-catalogue' {
    /**
     * Every error that users can see: a stable code, its meaning and what to do.
     *
     * The reference page `docs/reference/errors.md` is generated from this table, and a test keeps the two equal. A code is never
     * reused for another meaning.
     */
    export interface CatalogueEntry {
        /** What happened. */
        readonly meaning: string;
        /** What the reader can do about it. */
        readonly hint: string;
        /** The code that this error had in the previous minor version. HTTP error bodies carry it as `former_code`. */
        readonly formerCode?: string;
    }
    export const errorCatalogue: {
        readonly 'config/unreadable': {
            readonly meaning: 'The configuration file cannot be read or is not valid YAML.';
            readonly hint: 'Open the file at the line named, correct it and run `hermes config check`.';
        };
        readonly 'config/unwritable': {
            readonly meaning: 'The configuration file cannot be changed.';
            readonly hint: 'Make config.yaml writable for your user, or change the value there by hand.';
        };
        readonly 'config/invalid': {
            readonly meaning: 'The configuration contains invalid values.';
            readonly hint: 'Each line names the file, line and column. Correct the values and run `hermes config check`.';
        };
        readonly 'config/no-model': {
            readonly meaning: 'A model provider is configured, but a required setting is missing.';
            readonly hint: 'Set `model` and the key of the provider (for example OPENAI_API_KEY) in config.yaml or .env.';
        };
        readonly 'auth/unusable': {
            readonly meaning: 'The file of stored keys (auth.json) cannot be read or written, or is not in the form of Hermes.';
            readonly hint: 'Correct the file, or move it away and add the keys again with `hermes auth add`.';
        };
        readonly 'home/unusable': {
            readonly meaning: 'The home directory cannot be created or written.';
            readonly hint: 'Check the owner and the permissions of HERMES_HOME (default ~/.hermes). You must own it and be able to write to it.';
        };
        readonly 'home/locked': {
            readonly meaning: 'Another process already uses this home directory.';
            readonly hint: 'Stop the other gateway, or set HERMES_HOME to another directory.';
        };
        readonly 'store/newer-schema': {
            readonly meaning: 'The database was written by a newer version of hermes-gateway.';
            readonly hint: 'Run the newer version, or stop the gateway and replace state.db by state.db.bak, the copy before the upgrade.';
        };
        readonly 'store/foreign': {
            readonly meaning: 'The database in this home was written by Hermes Agent, not by hermes-gateway. Nothing was changed.';
            readonly hint: 'Take it over into a home of its own: `HERMES_HOME=<new folder> hermes import hermes <this home>`, or `hermes setup`.';
        };
        readonly 'store/corrupt': {
            readonly meaning: 'The database file is damaged or is not a database.';
            readonly hint: 'Stop the gateway, rename state.db and restore a backup. `hermes doctor` shows the damage.';
        };
        readonly 'store/locked': {
            readonly meaning: 'The database is locked by another process.';
            readonly hint: 'Close the program that writes to state.db, then try again.';
        };
        readonly 'store/full': {
            readonly meaning: 'The disk is full. Nothing was written.';
            readonly hint: 'Free disk space. Platforms deliver unaccepted messages again.';
        };
        readonly 'store/unavailable': {
            readonly meaning: 'The database cannot be opened. Nothing was written.';
            readonly hint: 'Check the permissions of the home and the limit of open files (`ulimit -n`).';
        };
        readonly 'store/replaced': {
            readonly meaning: 'The database or the lock file was removed or replaced while the gateway was running. Nothing was written.';
            readonly hint: 'Restart the gateway. Platforms deliver unaccepted messages again.';
        };
        readonly 'store/failed': {
            readonly meaning: 'A database operation failed.';
            readonly hint: 'See the cause in the log. `hermes doctor` checks the database.';
        };
        readonly 'store/too-many-reads': {
            readonly meaning: 'Too many people list or search conversations at the same time.';
            readonly hint: 'Try again in a moment.';
        };
        readonly 'store/fenced': {
            readonly meaning: 'A newer turn of the same session has started, so the write of this turn was rejected.';
            readonly hint: 'No action is needed. The newer turn replies.';
        };
        readonly 'pairing/files-unusable': {
            readonly meaning: 'A file of the pairing store cannot be read or written. No user was admitted.';
            readonly hint: 'The gateway must own `pairing` and `platforms/pairing` in its home, and be able to write to them. Then try again.';
        };
        readonly 'pairing/rejected': {
            readonly meaning: 'The code belongs to no request, or no code is accepted now.';
            readonly hint: 'Compare the code with the message. It is valid for one hour; after ten minutes a person can ask for a new one. `hermes pairing list` shows the requests.';
        };
        readonly 'pairing/not-paired': {
            readonly meaning: 'There is no such person or platform in the pairing store.';
            readonly hint: '`hermes pairing list` shows the people and their platforms.';
        };
        readonly 'pairing/listed': {
            readonly meaning: 'The person is on an allow list that the gateway cannot edit, so the access was not revoked.';
            readonly hint: 'Remove the user id from the setting named, then revoke again.';
        };
        readonly 'media/too-large': {
            readonly meaning: 'The file is larger than allowed.';
            readonly hint: 'Send a smaller file, or raise `media.max_mb`.';
        };
        readonly 'media/picture-refused': {
            readonly meaning: 'Models cannot look at the picture.';
            readonly hint: 'The message says why. Send a picture as PNG, JPEG, GIF or WebP with at most 5 MB and 8,000 × 8,000 pixels.';
        };
        readonly 'media/picture-too-large': {
            readonly meaning: 'The picture is larger than models accept.';
            readonly hint: 'Send a picture with at most 5 MB and 8,000 × 8,000 pixels.';
        };
        readonly 'media/too-many': {
            readonly meaning: 'The message has more files than allowed.';
            readonly hint: 'Send the other files with another message.';
        };
        readonly 'media/upload-gone': {
            readonly meaning: 'The upload does not exist, is not complete, or was removed after a day without a message.';
            readonly hint: 'Upload the file again.';
        };
        readonly 'media/uploads-full': {
            readonly meaning: 'Uploaded files that no message has used take all the space that uploads may take.';
            readonly hint: 'Send or remove the files that wait on open pages. Uploads without a message are removed after a day.';
        };
        readonly 'media/not-fetched': {
            readonly meaning: 'The file could not be downloaded.';
            readonly hint: 'Check the address in a browser. Addresses in private networks are not allowed.';
        };
        readonly 'http/port-in-use': {
            readonly meaning: 'The HTTP address is already in use.';
            readonly hint: 'Stop the program that uses the port, or set `http.port` (HERMES_HTTP_PORT) to a free port.';
        };
        readonly 'http/unauthorised': {
            readonly meaning: 'The request has no valid bearer token.';
            readonly hint: 'Send `Authorization: Bearer <token>`. The token is in gateway.token of the home directory (`hermes web url` prints it).';
        };
        readonly 'http/forbidden-host': {
            readonly meaning: 'The Host or Origin header of the request is not allowed.';
            readonly hint: 'Use the URL that the gateway printed, or add the host name to `http.allowed_hosts`, or the origin of another page to `http.allowed_origins`.';
        };
        readonly 'http/too-large': {
            readonly meaning: 'The request body is larger than allowed.';
            readonly hint: 'Send a smaller request. The limit is `http.max_body_mb`.';
        };
        readonly 'http/bad-request': {
            readonly meaning: 'The request is invalid.';
            readonly hint: 'The message names the field, the expected value and the value found.';
        };
        readonly 'http/not-found': {
            readonly meaning: 'The path does not exist.';
            readonly hint: 'Check the path. docs/reference/http.md lists all paths.';
        };
        readonly 'http/method-not-allowed': {
            readonly meaning: 'The path does not support this method.';
            readonly hint: 'The Allow header and the message list the supported methods.';
        };
        readonly 'http/timeout': {
            readonly meaning: 'The request was not received in time.';
            readonly hint: 'Send the headers and the body without long delays.';
        };
        readonly 'http/internal': {
            readonly meaning: 'The gateway could not handle the request.';
            readonly hint: 'The log names the route and the cause.';
        };
        readonly 'http/cannot-listen': {
            readonly meaning: 'The HTTP server cannot listen on its address.';
            readonly hint: 'Check `http.host` and `http.port` (HERMES_HTTP_HOST, HERMES_HTTP_PORT). Ports below 1024 need additional privileges.';
        };
        readonly 'http/token-unusable': {
            readonly meaning: 'The bearer token of the gateway is invalid.';
            readonly hint: 'Delete gateway.token in the home directory and restart the gateway to create a new token, or set `http.token`.';
        };
        readonly 'http/starting': {
            readonly meaning: 'The gateway is starting or stopping and does not accept work.';
            readonly hint: 'Try again later. /readyz reports when the gateway is ready.';
        };
        readonly 'http/busy': {
            readonly meaning: 'Too many large requests are being read.';
            readonly hint: 'Try again later. Requests with the bearer token are always read.';
        };
        readonly 'sessions/not-found': {
            readonly meaning: 'There is no such session or message.';
            readonly hint: '`GET /api/sessions` lists the sessions. Encode an id in a path: `encodeURIComponent(id)`.';
        };
        readonly 'sessions/busy': {
            readonly meaning: 'A turn of the conversation runs or waits.';
            readonly hint: 'Stop it with /stop, or wait for its end, and try again.';
        };
        readonly 'approvals/not-found': {
            readonly meaning: 'There is no such question.';
            readonly hint: '`GET /api/approvals/pending` lists the questions that wait for an answer.';
        };
        readonly 'approvals/answered': {
            readonly meaning: 'The question was answered before.';
            readonly hint: 'Nothing was changed. `GET /api/approvals/pending` lists the questions that still wait.';
        };
        readonly 'approvals/expired': {
            readonly meaning: 'The question is no longer open: its time is over, or the turn that asked has ended.';
            readonly hint: 'Nothing was changed. `GET /api/approvals/pending` lists the questions that still wait.';
        };
        readonly 'approvals/refused': {
            readonly meaning: 'This question needs the answer of another person.';
            readonly hint: 'An owner other than the person who caused it answers in the chat (`approvals.approver`).';
        };
        readonly 'inbox/too-large': {
            readonly meaning: 'The message is larger than the gateway accepts.';
            readonly hint: 'Send the message as a file or in parts. The limit is `inbox.max_message_kb`.';
        };
        readonly 'inbox/queue-full': {
            readonly meaning: 'The message was not taken: too many messages of its sender already wait in the conversation.';
            readonly hint: 'Send it again when the earlier ones are answered, or stop them with `/stop`. The limit is `display.busy_queue_limit`.';
        };
        readonly 'inbox/refused': {
            readonly meaning: 'The sender is not allowed to use the gateway.';
            readonly hint: 'Add the user id to `allow_from` of the platform (or to its ..._ALLOWED_USERS variable).';
        };
        readonly 'inbox/dead-letter': {
            readonly meaning: 'A message is a dead letter because three attempts to process it failed.';
            readonly hint: '`hermes inbox list` shows it; `hermes inbox retry <number>` tries again, `hermes inbox drop <number>` deletes it.';
            readonly formerCode: 'inbox/parked';
        };
        readonly 'platform/unknown': {
            readonly meaning: 'No platform with this name is installed.';
            readonly hint: 'Check the name under `platforms:`. `hermes status` lists the installed platforms.';
        };
        readonly 'platform/invalid': {
            readonly meaning: 'A platform directory is invalid.';
            readonly hint: 'The message names the file and the expected content.';
        };
        readonly 'platform/connect-failed': {
            readonly meaning: 'A platform cannot connect.';
            readonly hint: 'The gateway retries with increasing delays. The message contains the response of the platform.';
        };
        readonly 'platform/unauthorised': {
            readonly meaning: 'The platform rejected the credentials.';
            readonly hint: 'Check the token in .env or config.yaml. The gateway connects again when the configuration of the platform changes.';
        };
        readonly 'platform/token-in-use': {
            readonly meaning: 'Another gateway is connected with the token of this account.';
            readonly hint: 'Give each profile a bot of its own, or stop the other gateway. The account connects when the token becomes free.';
        };
        readonly 'platform/refused': {
            readonly meaning: 'The platform rejects the bot because of its settings there.';
            readonly hint: 'The message names the setting. The gateway connects again when the configuration of the platform changes or after a restart.';
        };
        readonly 'provider/auth': {
            readonly meaning: 'The model provider rejected the API key.';
            readonly hint: 'Check the key of the provider: `hermes doctor` names the key that is sent, and `hermes auth list` shows where each one is.';
        };
        readonly 'provider/billing': {
            readonly meaning: 'The model provider reports insufficient credit or an exhausted quota.';
            readonly hint: 'Check your account at the provider, then send the message again.';
        };
        readonly 'provider/rate-limit': {
            readonly meaning: 'The rate limit of the model provider was exceeded, also by the retries.';
            readonly hint: 'Wait a moment and send the message again.';
        };
        readonly 'provider/overloaded': {
            readonly meaning: 'The model provider is overloaded or failing, also for the retries.';
            readonly hint: 'Wait a moment and send the message again.';
        };
        readonly 'provider/network': {
            readonly meaning: 'The model provider cannot be reached.';
            readonly hint: 'Check `base_url` and the network, then send the message again.';
        };
        readonly 'provider/context': {
            readonly meaning: 'The conversation is longer than the context of the model.';
            readonly hint: 'Start a new conversation with /new.';
        };
        readonly 'provider/content-filter': {
            readonly meaning: 'The content filter of the model provider rejected the message.';
            readonly hint: 'Write it differently, or without the part that the filter rejects.';
        };
        readonly 'provider/invalid-request': {
            readonly meaning: 'The model provider rejected the request as invalid.';
            readonly hint: 'Check `model` and the extra options. The message contains the response of the provider.';
        };
        readonly 'provider/bad-response': {
            readonly meaning: 'The model provider returned an unusable response.';
            readonly hint: 'Send the message again. If the error persists, check that `base_url` implements the API of `provider`.';
        };
        readonly 'provider/timeout': {
            readonly meaning: 'The model provider sent no output for too long, or did not complete its response in time.';
            readonly hint: 'Send the message again, or increase `agent.model_timeout` or `agent.model_call_timeout`.';
        };
        readonly 'agent/tool-failed': {
            readonly meaning: 'A tool failed.';
            readonly hint: 'The model receives the reason and can try another way.';
        };
        readonly 'agent/max-iterations': {
            readonly meaning: 'The turn reached its limit of model calls without an answer.';
            readonly hint: 'Send "continue" to go on from here, or increase `max_iterations` in config.yaml.';
        };
        readonly 'terminal/no-folder': {
            readonly meaning: 'The working directory of a command does not exist.';
            readonly hint: 'Create the directory, or set `terminal.cwd` to an existing one.';
        };
        readonly 'terminal/hidden-folder': {
            readonly meaning: 'A command cannot run in its working directory.';
            readonly hint: 'Add the directory to `terminal.sandbox_write`, or to `terminal.sandbox_read` if commands only read there.';
        };
        readonly 'terminal/cannot-start': {
            readonly meaning: 'A command cannot be started.';
            readonly hint: 'The message contains the reason. Check that a shell is installed and that processes may be started.';
        };
        readonly 'checkpoints/unavailable': {
            readonly meaning: 'Checkpoints need git, which is not installed.';
            readonly hint: 'Install git for the user of the gateway.';
        };
        readonly 'checkpoints/unknown': {
            readonly meaning: 'There is no such checkpoint.';
            readonly hint: '`/rollback` lists those of a conversation, `hermes checkpoints list` all of them.';
        };
        readonly 'checkpoints/refused': {
            readonly meaning: 'Files of a checkpoint may not be restored. Nothing was changed.';
            readonly hint: 'Restore the other files one by one: `/rollback <number> <file>`.';
        };
        readonly 'checkpoints/failed': {
            readonly meaning: 'Git could not read or write the checkpoints of a folder.';
            readonly hint: 'The message contains the reason. Check the space and the permissions below `checkpoints` in HERMES_HOME.';
        };
        readonly 'environment/unreachable': {
            readonly meaning: 'The place where commands run (`terminal.backend`) cannot be reached. Nothing ran, here or there.';
            readonly hint: 'The message contains the reason. `hermes doctor` checks the place. The next command tries again.';
        };
        readonly 'environment/lost': {
            readonly meaning: 'The connection to the place where commands run was lost while a command ran. Its effects are unknown.';
            readonly hint: 'Look at what the command has done before you repeat it. The next command connects again.';
        };
        readonly 'environment/no-sandbox': {
            readonly meaning: '`terminal.backend: bwrap` requires bubblewrap, which does not work on this machine. Nothing ran.';
            readonly hint: 'Install bubblewrap (apt-get install bubblewrap), or choose another `terminal.backend`. `hermes doctor` tries it.';
        };
        readonly 'environment/no-client': {
            readonly meaning: 'The program that reaches the place where commands run is not installed.';
            readonly hint: 'Install it for the user of the gateway, or choose another `terminal.backend`.';
        };
        readonly 'environment/engine-too-old': {
            readonly meaning: 'The engine of the containers is too old.';
            readonly hint: 'Update docker or podman, or name another one in `terminal.docker_binary`.';
        };
        readonly 'environment/no-image': {
            readonly meaning: 'The image of the container is not on this machine and cannot be fetched.';
            readonly hint: 'Check the name of the image (`terminal.docker_image`, `terminal.singularity_image`) and the network, or fetch it by hand.';
        };
        readonly 'environment/container-failed': {
            readonly meaning: 'The container in which commands run cannot be started.';
            readonly hint: 'The message contains the reason of the engine. Check the keys `docker_*` and `container_*` of `terminal`.';
        };
        readonly 'environment/ssh-settings': {
            readonly meaning: 'The settings of the ssh connection are invalid.';
            readonly hint: 'Correct `terminal.ssh_host`, `ssh_user`, `ssh_port`, `ssh_key` and `ssh_known_hosts` in config.yaml.';
        };
        readonly 'environment/ssh-host-key-changed': {
            readonly meaning: 'The ssh host shows another key than known_hosts contains. Nothing was sent to it.';
            readonly hint: 'Someone may be between you and the host. Only if its administrator confirms the new key, remove the line of known_hosts.';
        };
        readonly 'environment/ssh-host-key-unknown': {
            readonly meaning: 'The key of the ssh host is not in known_hosts. Nothing was sent to it.';
            readonly hint: 'Connect once with ssh as the user of the gateway and compare the fingerprint, or set `terminal.ssh_host_keys: accept-new`.';
        };
        readonly 'environment/ssh-denied': {
            readonly meaning: 'The ssh host does not accept the key of the gateway.';
            readonly hint: 'Add the public key to ~/.ssh/authorized_keys of the account, or correct `terminal.ssh_user` and `terminal.ssh_key`.';
        };
        readonly 'agent/stopped': {
            readonly meaning: 'The turn was stopped.';
            readonly hint: 'Send a message to continue.';
        };
        readonly 'hosts/threw': {
            readonly meaning: 'A handler failed.';
            readonly hint: 'The message and the log name the location. The handler is loaded again when its files change.';
        };
        readonly 'hosts/timeout': {
            readonly meaning: 'A handler exceeded its time limit and was aborted.';
            readonly hint: 'Reduce its work, increase `timeout_ms`, or observe its `signal`.';
        };
        readonly 'hosts/aborted': {
            readonly meaning: 'A handler was aborted because its result was no longer needed.';
            readonly hint: 'No action is needed.';
        };
        readonly 'hosts/died': {
            readonly meaning: 'The process of a handler exited while the handler was running.';
            readonly hint: 'The log contains the last output of the process. The process restarts automatically. The interrupted call is not repeated.';
        };
        readonly 'hosts/unloadable': {
            readonly meaning: 'A handler cannot be loaded.';
            readonly hint: 'The message names the file and line. The handler is loaded again when its files change.';
        };
        readonly 'hosts/unserialisable': {
            readonly meaning: 'The input or the result of a handler cannot be converted to JSON.';
            readonly hint: 'Return only null, strings, numbers, arrays and plain objects.';
        };
        readonly 'hosts/unavailable': {
            readonly meaning: 'The process that runs handlers of this language cannot be started.';
            readonly hint: 'Handlers in Python need python3, version 3.9 or later, on the PATH. The message contains the reason.';
        };
        readonly 'hosts/garbled': {
            readonly meaning: 'A handler wrote to the pipe that connects its process to the gateway.';
            readonly hint: 'Do not use file descriptors 3 and 4.';
        };
        readonly 'hosts/stopped': {
            readonly meaning: 'The process that runs handlers is stopping and accepts no more work.';
            readonly hint: 'No action is needed. The process stops with the gateway, or because a new process replaces it.';
        };
        readonly 'hooks/no-target': {
            readonly meaning: 'A hook sends a message to a target that does not exist.';
            readonly hint: 'Write `<platform>` for its home channel, `<platform>:<chat_id>[:<thread_id>]`, or `<platform>:#<channel>`.';
        };
        readonly 'delivery/failed': {
            readonly meaning: 'The platform has not taken the message.';
            readonly hint: 'See the reason in the message; `hermes outbox list` shows what can be sent again.';
        };
        readonly 'delivery/no-target': {
            readonly meaning: 'There is no such target for a message.';
            readonly hint: 'Write `<platform>` for its home channel, `<platform>:<chat_id>[:<thread_id>]`, `<platform>:#<channel>`, or `local` for a file.';
        };
        readonly 'plugins/unloadable': {
            readonly meaning: 'A plugin cannot be loaded.';
            readonly hint: 'Correct what the message names, then run `hermes plugins enable <id>` again, or restart the gateway.';
        };
        readonly 'plugins/unloaded': {
            readonly meaning: 'A plugin that was unloaded called the gateway.';
            readonly hint: 'Stop timers and streams of the plugin in `onUnload`.';
        };
        readonly 'plugins/invalid-registration': {
            readonly meaning: 'A plugin registered something invalid.';
            readonly hint: 'The message contains the expected form.';
        };
        readonly 'plugins/environment-taken': {
            readonly meaning: 'An environment with this name already exists.';
            readonly hint: 'Choose another name for `terminal.backend`.';
        };
        readonly 'plugins/tool-taken': {
            readonly meaning: 'A tool with this name already exists.';
            readonly hint: 'Choose another name, or set `override` and allow it with `plugins.entries.<id>.allow_tool_override: true`.';
        };
        readonly 'plugins/command-taken': {
            readonly meaning: 'A slash command with this name already exists.';
            readonly hint: 'Choose another name. /commands lists the existing commands.';
        };
        readonly 'plugins/daemon-taken': {
            readonly meaning: 'A background daemon with this name already exists.';
            readonly hint: 'Choose another name, for example one that begins with the name of the plugin.';
        };
        readonly 'plugins/state-too-large': {
            readonly meaning: 'The state of a plugin would exceed its size limit. Nothing was changed.';
            readonly hint: 'Store less. Use separate files of the plugin for large or many values.';
        };
        readonly 'plugins/not-a-platform': {
            readonly meaning: 'Only a plugin of kind platform can register a platform.';
            readonly hint: 'Set `kind: platform` in its plugin.yaml and move its directory to `platforms/`.';
        };
        readonly 'plugins/bad-request': {
            readonly meaning: 'A plugin sent an invalid request.';
            readonly hint: 'The message contains the expected form.';
        };
        readonly 'plugins/tool-refused': {
            readonly meaning: 'A tool call of a plugin was rejected.';
            readonly hint: 'The message names the reason and the module that rejected it.';
        };
        readonly 'plugins/too-deep': {
            readonly meaning: 'A plugin calls itself recursively: its request causes the same request again.';
            readonly hint: 'Check in the middleware whether the call is its own (`session_id` begins with `plugin:`, the `tool_call_id` of a tool with `plugin_`).';
        };
        readonly 'plugins/process-gone': {
            readonly meaning: 'The process of a Python plugin is not running.';
            readonly hint: 'The process restarts automatically with increasing delays. A plugin that was disabled after repeated failures is loaded again by `hermes plugins enable <id>`. The log contains the exit reason.';
        };
        readonly 'plugins/not-allowed': {
            readonly meaning: 'The configuration does not allow this request of a plugin.';
            readonly hint: 'The message names the key of `plugins.entries` that allows it.';
        };
        readonly 'middleware/name-taken': {
            readonly meaning: 'The name of a registration is already in use.';
            readonly hint: 'Choose another name, or remove the first registration.';
        };
        readonly 'middleware/bad-registration': {
            readonly meaning: 'The registration is invalid.';
            readonly hint: 'The message contains the reason. The types of registerGuardrail, registerIntercept and the other functions define the expected form.';
        };
        readonly 'middleware/scope-closed': {
            readonly meaning: 'The scope has ended and accepts no more registrations.';
            readonly hint: 'Register while the scope is active, or register globally.';
        };
        readonly 'middleware/foreign-scope': {
            readonly meaning: 'The object is not a scope of this gateway.';
            readonly hint: 'Pass the object that a callback received as `scope`.';
        };
        readonly 'middleware/next-called-twice': {
            readonly meaning: 'A callback called its next_call twice.';
            readonly hint: 'Call next_call once. Use an execution intercept to run a call several times.';
        };
        readonly 'middleware/next-revoked': {
            readonly meaning: 'A callback called next or next_call after it had returned.';
            readonly hint: 'Await next or next_call before the callback returns.';
        };
        readonly 'middleware/failed': {
            readonly meaning: 'A plugin failed during a model call.';
            readonly hint: 'The message names the plugin. `hermes plugins disable <id>` disables it.';
        };
        readonly 'middleware/bad-return': {
            readonly meaning: 'A callback of a managed call returned an invalid value.';
            readonly hint: 'The message names the callback and the expected value.';
        };
        readonly 'outbox/dead-letter': {
            readonly meaning: 'A reply is a dead letter: it could not be delivered and is not retried automatically.';
            readonly hint: '`hermes outbox list` shows it with the reason; `hermes outbox retry <number>` tries again.';
            readonly formerCode: 'outbox/dead';
        };
        readonly 'cli/usage': {
            readonly meaning: 'The command line is invalid.';
            readonly hint: 'Run the command with --help.';
        };
        readonly 'cli/no-daemon': {
            readonly meaning: 'No gateway is running with this home directory.';
            readonly hint: 'Start one with `npm start` (or `hermes gateway run`).';
        };
        readonly 'cli/daemon-silent': {
            readonly meaning: 'A gateway is running with this home directory but does not respond.';
            readonly hint: 'Wait a moment and try again. logs/gateway.log in the home directory contains its activity. Otherwise kill its process.';
        };
        readonly 'cli/incompatible-response': {
            readonly meaning: 'This version cannot read the response of the gateway.';
            readonly hint: 'The gateway may be another version. Restart it and try again.';
        };
        readonly 'cli/not-found': {
            readonly meaning: 'The item does not exist.';
            readonly hint: 'The `list` command of the same group shows the existing items.';
        };
        readonly 'cli/failed': {
            readonly meaning: 'The command failed.';
            readonly hint: 'The message contains the reason.';
        };
    };
    export type ErrorCode = keyof typeof errorCatalogue;
}

declare module 'hermes-gateway:lib/errors' {
    /**
     * The error class of the project, and functions for errors of unknown type.
     */
    import { type ErrorCode } from 'hermes-gateway:lib/error-catalogue';
    export interface HermesErrorOptions {
        readonly cause?: unknown;
        /** Replaces the hint of the catalogue. */
        readonly hint?: string;
    }
    /** An error with a stable code and a hint. `message` is the meaning of the catalogue, followed by the detail. */
    export class HermesError extends Error {
        readonly code: ErrorCode;
        readonly hint: string;
        /** The meaning of the catalogue. */
        readonly meaning: string;
        /** Details of this case, or ''. */
        readonly detail: string;
        constructor(code: ErrorCode, detail?: string, options?: HermesErrorOptions);
    }
    export function isHermesError(error: unknown, code?: ErrorCode): error is HermesError;
    /** Whether the machine, not the operation, is the cause, so that the operation may succeed later. */
    export function isTransientError(error: unknown): boolean;
    /** The stack of an error, or ''. Never throws. */
    export function stackOf(thrown: unknown): string;
    /** The message of a thrown value of any type. Never throws. */
    export function messageOf(thrown: unknown): string;
    /** Converts a thrown value to an Error, for example for `cause`. */
    export function toError(thrown: unknown): Error;
    /** The `code` of a system error such as ENOENT, or `undefined`. */
    export function systemCode(thrown: unknown): string | undefined;
    /** Ends an exhaustive `switch`: a new member of the union is a compile error. */
    export function assertNever(value: never): never;
}

declare module 'hermes-gateway:lib/find-program' {
    /** `searchPath` has the form of PATH; relative directories are left out. Undefined when no directory has the program. */
    export function findProgram(name: string, searchPath: string): string | undefined;
}

declare module 'hermes-gateway:lib/find-secrets' {
    /**
     * Finds secrets in text: known secrets in every encoding in which they occur, and text that looks like a secret.
     *
     * Each pattern starts with a rare literal, and every quantifier that could match the same text twice is bounded, so that the
     * time grows linearly with the length.
     */
    /** From (included) and to (excluded), in UTF-16 units. */
    export type TextRange = readonly [from: number, to: number];
    /** Whether a value of a key or a variable that holds a secret is removed from text. */
    export function isFindableSecret(value: string): boolean;
    export interface SecretMatcher {
        /** Sorted by their beginning. */
        find(text: string): TextRange[];
        /** Where a secret may begin that the end of the text cuts off; the length of the text if there is none. */
        incompleteFrom(text: string): number;
        /** The length of the longest form of a secret. */
        readonly maxLength: number;
    }
    export const noSecrets: SecretMatcher;
    /**
     * Searches for all forms of all secrets in one pass, in linear time (Wu and Manber, with blocks of two characters): a block
     * that begins no form and is not in the beginning of one skips several characters.
     * @param toText how a form occurs in the texts that are searched
     */
    export function createSecretMatcher(secrets: readonly string[], toText?: (form: string) => string): SecretMatcher;
    /** Ranges of the text that look like a secret. They may overlap and are not sorted. */
    export function findSecretRanges(text: string): TextRange[];
}

declare module 'hermes-gateway:lib/html-entities' {
    /**
     * Decodes the character references of Markdown: `&amp;`, `&#8212;`, `&#x2014;` and the names of HTML 4. Unknown names stay
     * unchanged.
     */
    /** Decodes once: `&amp;lt;` becomes `&lt;`. */
    export function decodeHtmlEntities(text: string): string;
}

declare module 'hermes-gateway:lib/ids' {
    const kind: unique symbol;
    /** A string type that is not assignable to another kind of id. */
    export type Brand<Kind extends string> = string & {
        readonly [kind]: Kind;
    };
    /** Converts a string to a branded type. The only place where this happens. */
    export function brand<Branded extends Brand<string>>(value: string): Branded;
    export type Clock = () => number;
    /** Returns `length` random bytes. */
    export type RandomBytes = (length: number) => Uint8Array;
    /** Returns a UUID version 4. Node generates them in batches, so that one costs little. */
    export type RandomUuid = () => string;
    export const systemRandom: RandomBytes;
    /** UUID version 7 (RFC 9562 §5.7): sortable by time, `now` in ms. */
    export function uuid7(now: number, random?: RandomUuid): string;
    /** Session id `YYYYMMDD_HHMMSS_<8 hex>` in local time (contract §3.1). */
    export function sessionIdAt(now: number, random?: RandomUuid): string;
    export {};
}

declare module 'hermes-gateway:lib/json' {
    /**
     * Typed access to JSON from outside the process, and JSON that is safe to print. None of these functions throws.
     */
    /** A JSON object whose fields have not been checked. */
    export type JsonObject = {
        readonly [key: string]: unknown;
    };
    /** Whether the value is an object with keys: neither null nor an array. */
    export function isRecord(value: unknown): value is JsonObject;
    /** Whether the value is an array or a plain object, and not an instance of a class. */
    export function isPlainData(value: unknown): value is object;
    /** The value if it is a record, otherwise an empty one, so that a chain of look-ups needs no checks in between. */
    export function asRecord(value: unknown): JsonObject;
    /** The value if it is a string, otherwise ''. */
    export function asString(value: unknown): string;
    /** The value if it is a finite number, otherwise 0. */
    export function asNumber(value: unknown): number;
    /** The value if it is an array, otherwise an empty one. */
    export function asArray(value: unknown): readonly unknown[];
    /** Parses JSON text. Returns undefined, which is not a JSON value, for anything else and for text that is nested too deeply. */
    export function parseJson(text: string): unknown;
    /** Whether arrays and records are nested more than `limit` levels deep. Iterative, so that deep input cannot overflow the stack. */
    export function exceedsDepth(value: unknown, limit: number): boolean;
    /** Escapes them. The JSON value stays the same. */
    export function escapeJsonLine(json: string): string;
    /**
     * Checks the nesting of JSON without parsing it: deep nesting is cheap to send and expensive to parse. The result for text that
     * is not JSON is undefined but harmless.
     */
    export function exceedsMaxDepth(text: string): boolean;
    /** Whether JSON text of others is nested so deeply, or has so many keys, that parsing it would hold the event loop. */
    export function isTooComplex(text: string): boolean;
}

declare module 'hermes-gateway:lib/log' {
    import type { Redactor } from 'hermes-gateway:lib/redact';
    export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
    export type LogFields = Readonly<Record<string, unknown>>;
    /**
     * Fields of a line. `event` names what happened, for example `turn.started`. It stays the same when the message changes.
     * `err` is the error that caused the line; a second name for it would split every search.
     */
    export type LogEventFields = LogFields & {
        readonly event: string;
        readonly error?: never;
    };
    /**
     * The log as modules see it. The fields precede the message, as in pino. `Fields` is `LogFields` for plugins and
     * platforms of users, whose lines need no event.
     */
    export interface Logger<Fields extends LogFields = LogEventFields> {
        debug(fields: Fields, message: string): void;
        info(fields: Fields, message: string): void;
        warn(fields: Fields, message: string): void;
        error(fields: Fields, message: string): void;
        /** Returns a logger that adds these fields to every line. */
        child(fields: LogFields): Logger<Fields>;
    }
    /** Discards all lines. */
    export const silentLog: Logger;
    /** Where lines are written besides the file: `process.stderr` or an object with `write`. */
    export interface LogStream {
        write(text: string): unknown;
        on?(event: 'error', listener: (error: Error) => void): unknown;
    }
    export interface LogOptions {
        readonly level: LogLevel;
        /** Writes formatted lines instead of JSON to `stream`. */
        readonly pretty: boolean;
        /** Colours in formatted lines. Default: `pretty`. */
        readonly colour?: boolean;
        readonly stream?: LogStream;
        /**
         * The directory of `gateway.log`, which gets JSON lines (mode 0600). Default: at most `keep` = 7 files of
         * `maxBytes` = 10 MB.
         */
        readonly file?: {
            readonly directory: string;
            readonly maxBytes?: number;
            readonly keep?: number;
        };
        readonly redactor: Redactor;
        /** ms since 1970. */
        readonly clock?: () => number;
    }
    /** The root logger. `setLevel` also applies to its children. */
    export interface Log extends Logger {
        setLevel(level: LogLevel): void;
        /** Closes the file. A later line opens it again, so that the last lines of a shutdown are kept. */
        close(): void;
    }
    /**
     * Creates the root logger. Logging never throws and never stops the process. A line that cannot be written is dropped and
     * counted, and the next line that can be written reports the count.
     */
    export function createLog(options: LogOptions): Log;
}

declare module 'hermes-gateway:lib/lru-cache' {
    /**
     * A map with a maximum size that drops the least recently used entry, so that memory stays bounded.
     */
    export interface LruCache<Value> {
        get(key: string): Value | undefined;
        has(key: string): boolean;
        set(key: string, value: Value): void;
        delete(key: string): void;
    }
    export function createLruCache<Value>(maxEntries: number): LruCache<Value>;
}

declare module 'hermes-gateway:lib/markdown' {
    /**
     * Parses Markdown into tokens for renderers. `marked` is loaded for the first text, because it costs 35 ms and 5 MB.
     */
    import type { MarkedToken, Token } from 'marked';
    export type { MarkedToken } from 'marked';
    /**
     * Returns the blocks of a text in order. Character references (`&amp;`) are decoded. Never throws: a text that the parser cannot process (for example quotes nested a
     * thousand levels deep) becomes one plain paragraph.
     */
    export function parseMarkdown(text: string): Promise<readonly MarkedToken[]>;
    /** `parseMarkdown` for a caller that cannot wait, such as the drawing of a terminal. */
    export function loadMarkdownParser(): Promise<(text: string) => readonly MarkedToken[]>;
    /** A formula in LaTeX, in a line or as a block. Its text must be shown unchanged, with its delimiters. */
    export function isMathToken(token: MarkedToken): boolean;
    /**
     * Escapes the formulas of a Markdown text for a platform that renders standard Markdown itself.
     * `isPartial`: the text will grow. The result then omits an end that depends on the text that follows, so that it is the start
     * of every later result.
     */
    export function escapeMath(text: string, { isPartial }: {
        readonly isPartial: boolean;
    }): Promise<string>;
    /** Whether a table contains links or images. They do not work in a code block, which is how most platforms show tables. */
    export function tableHasLinks({ header, rows }: Extract<MarkedToken, {
        type: 'table';
    }>): boolean;
    /** Other tokens come from extensions of `marked`, which are not used. */
    export function isMarkedToken(token: Token): token is MarkedToken;
}

declare module 'hermes-gateway:lib/redact' {
    /**
     * Removes secrets from text: known secrets in every encoding in which they occur, and text that looks like a secret.
     *
     * Runs over every log line, so the time grows linearly with its length. Ordinary text must stay unchanged.
     */
    import { type TextRange } from 'hermes-gateway:lib/find-secrets';
    /**
     * Returns the text without its secrets. Never throws. A JSON line usually stays JSON. What only looks like a secret stays if
     * `keeps` returns true for it.
     */
    export type Redactor = (text: string, keeps?: (found: string) => boolean) => string;
    export interface RedactorOptions {
        /** The known secrets. Called for each text, so that a new configuration applies immediately. See `isFindableSecret` for what is removed. */
        readonly secrets: () => readonly string[];
        /** Removes known secrets only. For text that must otherwise stay exact, such as source code. */
        readonly knownOnly?: boolean;
    }
    /** The secrets known to the process. Pass `all` to the redactor. */
    export interface SecretRegistry {
        /** Returns the same array until a secret changes. */
        all(): readonly string[];
        /** Returns the secrets that do not occur in everyday text. The same array until a secret changes. */
        distinctive(): readonly string[];
        /** Replaces the secrets of a source. The previous ones stay known, because text that contains them may still be written. */
        set(source: string, values: Iterable<string>): void;
        /** Works like `set`, and forgets the previous secrets of the source, because they are worthless by then. */
        setShortLived(source: string, values: Iterable<string>): void;
    }
    export function createSecretRegistry(): SecretRegistry;
    /** Short texts, and longer words and numbers, also occur in everyday text. */
    export function isDistinctiveSecret(value: string): boolean;
    export function createRedactor({ secrets, knownOnly }: RedactorOptions): Redactor;
    /** A copy of plain data without secrets. Names of fields are redacted, too. */
    export function redactTexts(value: unknown, redact: Redactor): unknown;
    /** What replaces a secret in text for other people. */
    export const withheldText = "[withheld: a secret of this gateway]";
    /** Takes the known secrets out of what leaves the gateway. */
    export interface SecretFilter {
        /** Returns the text itself if it has no secret. */
        withhold(text: string): string;
        /** For a text that is still being written: its end is held back while it may be the beginning of a secret. */
        withholdPartial(text: string): string;
        /** Finds secrets in a file that is read in pieces. */
        scanBytes(): (piece: Uint8Array) => boolean;
    }
    /** @param secrets see `RedactorOptions` and `SecretRegistry.distinctive` */
    export function createSecretFilter(secrets: () => readonly string[]): SecretFilter;
    /**
     * The beginning of a text as one line for people, with hidden characters made visible. Secrets leave the whole text first: a
     * search could not find one that was cut or rewritten.
     * @param maxChars in code points, with the ellipsis
     * @param withhold takes the secrets out of a text
     */
    export function toShortLine(text: string, maxChars: number, withhold: (text: string) => string): string;
    /**
     * The beginning of a text that is redacted later, without the word that the cut would part: a part of a secret is not found.
     * Never splits a surrogate pair.
     */
    export function beginningOf(text: string, maxChars: number): string;
    /** Works like `beginningOf`, for the end of a text. */
    export function endOf(text: string, maxChars: number): string;
    /** Replaces each group of overlapping ranges. */
    export function replaceRanges(text: string, ranges: readonly TextRange[], replacement: (secret: string) => string): string;
    /** Sorted ranges without overlaps. */
    export function mergeRanges(ranges: readonly TextRange[]): TextRange[];
}

declare module 'hermes-gateway:lib/rotating-file' {
    export interface RotatingFileOptions {
        readonly path: string;
        /** Path of a rotated file; 1 is the newest. Default: `<path>.1`, `<path>.2` ... */
        readonly generationPath?: (generation: number) => string;
        /** Size at which a file is rotated. A line that is larger gets a file of its own. */
        readonly maxBytes: number;
        /** Number of rotated files to keep, without the current one. */
        readonly keepFiles: number;
        /** Refuses to write outside this directory, also through links. */
        readonly root?: string;
    }
    export interface RotatingFile {
        /** Appends text that ends with a line break. Throws the system's error and removes an incomplete line. */
        appendSync(text: string): void;
        /** Appends lines without line breaks. Rejects with the system's error. Wait for one call before the next. */
        append(lines: readonly string[]): Promise<void>;
        /** The next write opens the file again. */
        close(): void;
    }
    export function createRotatingFile(options: RotatingFileOptions): RotatingFile;
}

declare module 'hermes-gateway:lib/text-table' {
    /**
     * Formats tables as monospaced text, for platforms without tables.
     */
    export interface TableStyle {
        /** Between two columns. */
        readonly columnSeparator: string;
        /** The character of the rule under the header, and the separator of its columns. */
        readonly ruleCharacter: string;
        readonly ruleSeparator: string;
        /** Minimum width of a column. Default: 0. */
        readonly minColumnWidth?: number;
    }
    export type Align = 'left' | 'right' | 'center' | null;
    /**
     * Returns the lines of a table: header, rule, rows. The first row is the header. Each cell is one line of plain text, and
     * rows may have different lengths.
     */
    export function formatTable(rows: readonly (readonly string[])[], aligns: readonly Align[], style: TableStyle): string[];
    /** The width of a table in characters, without formatting it: one long cell makes every line as long. */
    export function tableWidth(rows: readonly (readonly string[])[], style: TableStyle): number;
    /** The width of a text in columns: two for East Asian characters and most emoji, none for accents and joiners. */
    export function displayWidth(text: string): number;
}

declare module 'hermes-gateway:lib/timers' {
    /**
     * Waiting that an abort signal can end, and abort signals for one call.
     */
    /** A timer with a longer delay fires immediately. */
    export const maxTimerMs: number;
    /**
     * Resolves after `ms` milliseconds (`Infinity` is allowed) or when the signal aborts. Never rejects: check the signal
     * afterwards.
     */
    export function sleep(ms: number, signal?: AbortSignal): Promise<void>;
    /** Full jitter between 0 and `min(maxMs, baseMs * 2^(attempt-1))`, so that many callers do not retry at the same time. */
    export function backoffMs(attempt: number, baseMs: number, maxMs: number, random: () => number): number;
    /**
     * Waits for `work` at most `ms` or until the signal aborts, and returns whether the work finished. The work is not
     * cancelled. Rejects if the work rejects. `wait` lets tests control the time.
     */
    export function withTimeout<T>(work: Promise<T>, ms: number, signal?: AbortSignal, wait?: typeof sleep): Promise<{
        done: true;
        value: T;
    } | {
        done: false;
    }>;
    /** Returns the value of the work, or rejects with the reason of the signal as soon as it aborts. The work is not cancelled. */
    export function raceAbort<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value>;
    /**
     * An abort signal for one call, linked to signals that live longer. `AbortSignal.any` is not used because a signal that lives
     * as long as the process would collect one entry per call.
     */
    export interface LinkedSignal {
        /** Aborts with the reason of the first source that aborts, or through `abort`. */
        readonly signal: AbortSignal;
        /** Aborts this signal without its sources. */
        abort(reason?: unknown): void;
        /** Removes the listeners from the sources. May be called twice. */
        release(): void;
    }
    export function linkAbortSignal(...sources: readonly AbortSignal[]): LinkedSignal;
    /** Calls the listener once, immediately if the signal is already aborted. Returns a function that removes the listener. */
    export function onAbort(signal: AbortSignal, listener: () => void): () => void;
}

declare module 'hermes-gateway:message/accept-result' {
    /**
     * The result of delivering an event to the inbox, and the read cursor of an adapter.
     */
    export type AcceptResult = {
        readonly status: 'accepted';
        readonly seq: number;
    }
    /** The platform sent the event twice. Acknowledge it. */
     | {
        readonly status: 'duplicate';
        readonly seq: number;
    }
    /** The sender has no access. Acknowledge the event and send no reply, or `reason` on a private platform. */
     | {
        readonly status: 'refused';
        readonly reason: string;
    };
    /** The position up to which an account has read a chat or thread. */
    export interface ReadCursor {
        /** The adapter's name of the chat or thread. */
        readonly place: string;
        /** Increases with time: the longer id is newer; of two ids of equal length, the one that sorts later. */
        readonly id: string;
    }
}

declare module 'hermes-gateway:message/authority' {
    /**
     * Whose turn it is: the person who caused it, and what that person may cause. It is decided when a message is accepted, is
     * stored with the message, and stays the same for everything that the message causes: resumed turns, background tasks,
     * scheduled turns and sub-agents.
     */
    import { type ChatType } from 'hermes-gateway:message/source';
    /** `owner`: everything. `member`: a known person. `guest`: a person who is let in without being listed by id. */
    export type Role = 'owner' | 'member' | 'guest';
    export interface Authority {
        readonly role: Role;
        /** The platform on which the person wrote, also for a background task. `plugin` for a plugin outside of turns. */
        readonly platform: string;
        /** The chat in which the person wrote. */
        readonly chatType: ChatType;
        /** Absent for a message that names no user. */
        readonly userId?: string;
        /** The bot identity that received the message. */
        readonly account?: string;
        readonly chatId?: string;
        /** The channel of a thread. */
        readonly parentChatId?: string;
        /** What else may have let the person in, so that the access can be checked again. */
        readonly isBot?: boolean;
        readonly roleAuthorized?: boolean;
        readonly userIdAlt?: string;
    }
    /** The person who holds the token of the gateway, or its home on this machine. */
    export const tokenAuthority: Authority;
    /** Whether two messages have the same author with the same rights. A message that names no user has no known author. */
    export function isSameAuthority(one: Authority, other: Authority): boolean;
}

declare module 'hermes-gateway:message/change' {
    /**
     * Changes of an existing message: edits, deletions and reactions. They are separate events, and none of them rewrites text
     * that the agent has read.
     */
    import type { MessageEvent } from 'hermes-gateway:message/event';
    import type { EventKey } from 'hermes-gateway:message/ids';
    import type { SessionSource } from 'hermes-gateway:message/source';
    export type MessageChange = {
        /** A user changed the text. Link previews and edits without a change of text do not count. */
        readonly kind: 'edited';
        /** An event key of the edited message. */
        readonly of: EventKey;
        /** The new version of the message. */
        readonly event: MessageEvent;
    } | {
        readonly kind: 'deleted';
        readonly of: EventKey;
        readonly source: SessionSource;
        readonly timestamp: number;
    } | ReactionChange;
    /** A reaction to any message of a chat (contract §1.4, `reaction:added` and `reaction:removed`). */
    export interface ReactionChange {
        readonly kind: 'reaction';
        /** The user who reacted, and the chat. */
        readonly source: SessionSource;
        readonly added: boolean;
        /** The emoji, or the platform's name of it (`thumbsup`). */
        readonly reaction: string;
        readonly messageId: string;
        /** The author of the message, if the platform reports it. */
        readonly itemUserId?: string;
        readonly timestamp: number;
        /** The payload of the platform, for hooks. */
        readonly raw: Readonly<Record<string, unknown>>;
    }
    /** A user pressed a button of a message of the gateway. */
    export interface ButtonPress {
        readonly source: SessionSource;
        readonly buttonId: string;
        /** The message that carries the button. Without it the gateway looks for it. */
        readonly messageId?: string;
        /** The reason of a refusal, or the answer to a question of the agent in own words, whichever of its buttons is named. */
        readonly text?: string;
    }
}

declare module 'hermes-gateway:message/conversation-choices' {
    /**
     * The values of the settings that a person may choose for one conversation. The configuration, the commands and their menus
     * offer the same.
     */
    /** What a message does that arrives while the agent works. */
    export const busyInputModes: readonly ['interrupt', 'queue', 'steer', 'collect'];
    export type BusyInputMode = (typeof busyInputModes)[number];
    /** Which tools of a turn a chat shows. */
    export const toolProgressModes: readonly ['off', 'new', 'all', 'verbose'];
    export type ToolProgressMode = (typeof toolProgressModes)[number];
    /** How much the model reasons before it answers. `ultra` is another name of `max`, as in Hermes. */
    export const reasoningEfforts: readonly ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'];
    /** An effort that is sent. */
    export type ReasoningEffort = Exclude<(typeof reasoningEfforts)[number], 'ultra'>;
}

declare module 'hermes-gateway:message/earlier-messages' {
    import type { Attachment } from 'hermes-gateway:message/event';
    /** A message that precedes the one that is being answered. */
    export interface EarlierMessage {
        readonly author: string;
        readonly text: string;
        readonly attachments: readonly Pick<Attachment, 'kind' | 'fileName'>[];
    }
    /**
     * Returns one string for each message, oldest first: `[author] text [image: file name]`. Further lines of a text are indented,
     * so that they cannot imitate a message of another author. A text is cut after 4,000 characters; the newest messages that fit
     * into 8,000 characters are returned. Messages without text and files are left out.
     *
     * @param messages oldest first
     */
    export function formatEarlierMessages(messages: readonly EarlierMessage[]): string[];
}

declare module 'hermes-gateway:message/event' {
    /**
     * A message as every platform delivers it (contract §3.1, `MessageEvent`), the command in it, and its text for the model.
     */
    import type { Authority } from 'hermes-gateway:message/authority';
    import type { SessionSource, Target } from 'hermes-gateway:message/source';
    import type { ChatMessage, ImagePart } from 'hermes-gateway:message/transcript';
    export type MessageType = 'text' | 'location' | 'photo' | 'video' | 'audio' | 'voice' | 'document' | 'sticker' | 'command';
    export interface Attachment {
        readonly kind: 'photo' | 'video' | 'audio' | 'voice' | 'document' | 'sticker';
        /** A file under `$HERMES_HOME/media`, named by the gateway. */
        readonly path?: string;
        /** The download address of a file that has not been downloaded. */
        readonly url?: string;
        /** The platform's id of the file. The adapter resolves it to an address when the file is needed. */
        readonly ref?: string;
        readonly mimeType?: string;
        readonly fileName?: string;
        readonly bytes?: number;
        /** The reason why the download failed, for the model. */
        readonly problem?: string;
        /** It belongs to the message that is replied to, not to this one. */
        readonly quoted?: true;
        /** Present for a picture that models can be shown; `path` is then its file. */
        readonly image?: ImagePart;
        /** Why models cannot be shown this picture, for the model. */
        readonly hidden?: string;
        /** What is said in a recording. */
        readonly transcript?: string;
        /** Why there is no transcript of a recording, for the model; '' where none is made. */
        readonly untranscribed?: string;
    }
    /** So many pictures of a message are shown to the model. It reads the path of the others. */
    export const maxShownImages = 8;
    export interface MessageEvent {
        readonly source: SessionSource;
        readonly text: string;
        readonly messageType: MessageType;
        /** The platform's id of the message, for replies and edits. */
        readonly messageId?: string;
        /** When the message was written, ms since 1970. */
        readonly timestamp: number;
        readonly attachments?: readonly Attachment[];
        readonly replyTo?: {
            readonly messageId: string;
            readonly text?: string;
            readonly authorId?: string;
            readonly authorName?: string;
            readonly isOwnMessage?: boolean;
        };
        /** Created by the gateway (cron, background results); skips access control. */
        readonly internal?: boolean;
        /** Decided when the event is accepted. Only an internal event may bring its own: that of the person who caused it. */
        readonly authority?: Authority;
        /** False: a leading slash is text, not a command, as in a forwarded message. The turn may still ask its user. */
        readonly allowGatewayControl?: boolean;
        /** The transcript that a stateless client sends; used only for a new session. */
        readonly seed?: {
            readonly messages: readonly ChatMessage[];
            /** Instructions of the client, appended to the system prompt of the session. */
            readonly instructions?: string;
        };
        /** The toolsets of a new session, instead of what is configured for the platform. */
        readonly toolsets?: readonly string[];
        readonly metadata?: Readonly<Record<string, string>>;
        /** What the sender wants the message to do while a turn runs (`/queue`, `/steer`), instead of what is configured. */
        readonly busyMode?: 'queue' | 'steer';
        /** Present for a background task, which has no chat that waits for the reply. */
        readonly task?: BackgroundTask;
        /** Present for the result of a sub-agent in the background: `text` is what the sub-agent wrote. */
        readonly subagentResult?: SubagentReport;
        /** Present for news of a background command: `text` is the end of its output. */
        readonly commandReport?: CommandReport;
        /** Present for a request to compress the conversation. `focus`: what the summary must keep. */
        readonly compress?: {
            readonly focus: string;
        };
        /** The skills that the text names (`/name`), for the model; '' if it names none. Set before its turn begins. */
        readonly skills?: string;
    }
    /** The parameters of a background task. The `source` of the event contains the requester. */
    export interface BackgroundTask {
        /** `bg_HHMMSS_<hex>` (contract §3.12). */
        readonly id: string;
        /** The target of the reply; null: the reply stays in the session of the task. */
        readonly deliver: Target | null;
        /** Further chats that get the reply. */
        readonly alsoDeliver?: readonly Target[];
        /** Maximum number of model calls, within the limit of the configuration. */
        readonly maxIterations?: number;
        /** A label for the kind of turn, passed to plugins. */
        readonly route: string;
        /** A person asked for it in the chat of `deliver`: its reply names the task. */
        readonly isRequested?: true;
        /** What was chosen with `/model` in the conversation that asked for it, as it is stored there. */
        readonly model?: string;
        /** The directory in which its commands begin; absolute. */
        readonly directory?: string;
        /** Present for a sub-agent: a conversation gets its result as a message. */
        readonly delegation?: BackgroundDelegation;
    }
    /** A sub-agent that goes on after the turn that started it. */
    export interface BackgroundDelegation {
        /** The session key of the conversation that gets the result. */
        readonly sessionKey: string;
        readonly source: SessionSource;
        /** The session and the turn that have started it. */
        readonly sessionId: string;
        readonly turnId: string;
        readonly subagentId: string;
        readonly role: 'leaf' | 'orchestrator';
        readonly depth: number;
        readonly goal: string;
        /** The names of its tools. */
        readonly tools: readonly string[];
        readonly model?: string;
        readonly outputSchema?: Readonly<Record<string, unknown>>;
        /** From 1: how many results in a row have led to it, since a message of a person. */
        readonly round: number;
    }
    /** What the gateway says about the result of a sub-agent. */
    export interface SubagentReport {
        /** The id of the task. */
        readonly id: string;
        readonly goal: string;
        /** `unknown`: the gateway ended while it worked, too often to go on. */
        readonly status: 'completed' | 'failed' | 'interrupted' | 'error' | 'unknown';
        readonly schemaValid?: boolean;
        /** The round of its delegation. */
        readonly round: number;
    }
    /** What the gateway says about a background command of the agent. */
    export interface CommandReport {
        /** The id of the command, as the agent knows it. */
        readonly id: string;
        /** The beginning. */
        readonly command: string;
        /** `matched`: its output has a text for which the agent watches. `lost`: the gateway ended while it ran. */
        readonly kind: 'ended' | 'matched' | 'lost';
        /** Null when a signal ended it; absent while it runs, and when it is not known. */
        readonly exitCode?: number | null;
        /** A sentence for the model; '' for none. */
        readonly note: string;
        /** The round, counted like that of a delegation. */
        readonly round: number;
    }
    export interface ParsedCommand {
        /** Lower case, without slash and `@bot` suffix. */
        readonly name: string;
        /** The text after the name, with normalized dashes. */
        readonly args: string;
    }
    /** False for a program that waits for the reply of its request and reads no other message. */
    export function hasWaitingUser({ metadata }: Pick<MessageEvent, 'metadata'>): boolean;
    /** Whether someone may be asked: in a chat, and for programs that show the questions of their request (`asks`). */
    export function mayBeAsked({ task, metadata }: Pick<MessageEvent, 'task' | 'metadata'>): boolean;
    /** Whether a person waits for the turn in a chat. */
    export function isAttended(event: MessageEvent): boolean;
    /** Returns the command of a message, or null for plain text and file paths (contract §3.1). */
    export function parseCommand(event: Pick<MessageEvent, 'text' | 'allowGatewayControl'>): ParsedCommand | null;
    /** A message of a person that is one of these texts means `/new`. */
    export function withResetTrigger(event: MessageEvent, triggers: readonly string[]): MessageEvent;
    /** Whether a recording waits for its transcript. */
    export function needsTranscript({ kind, path, transcript, untranscribed }: Attachment): boolean;
    /** Whether all files of a message are voice messages of its sender. */
    export function isSpoken({ attachments }: Pick<MessageEvent, 'attachments'>): boolean;
    /** What the sender has written and said. */
    export function ownWordsOf({ text, attachments }: Pick<MessageEvent, 'text' | 'attachments'>): string;
    /** The text that the model receives for a message. In a `shared` session it starts with the name of the author. */
    export function formatUserText(event: MessageEvent, shared: boolean): string;
    /** The pictures of a message that the model is shown. */
    export function shownImages({ attachments }: Pick<MessageEvent, 'attachments'>): readonly ImagePart[];
}

declare module 'hermes-gateway:message/hook-events' {
    /**
     * The typed map of gateway events (contract §1.4). Payload keys are the contract's own: drop-in handlers read them.
     * Hooks observe these events.
     */
    import type { Role } from 'hermes-gateway:message/authority';
    import type { MessageEvent } from 'hermes-gateway:message/event';
    export interface HookEvents {
        /** Every platform has connected or failed, or ten seconds have passed. */
        'gateway:startup': {
            platforms: string[];
        };
        /** The daemon is stopping, and running turns have ended. */
        'gateway:shutdown': {
            platforms: string[];
        };
        /** The first turn of a session starts, also after a reset. `reason`: only after an automatic reset, `daily` or `idle`. */
        'session:start': {
            platform: string;
            user_id: string;
            session_id: string;
            session_key: string;
            reason?: string;
        };
        /** A session ends. `reason`: `new`, `daily`, `idle`, or `resume` and `branch` for the commands of these names. */
        'session:end': {
            platform: string;
            user_id: string;
            session_key: string;
            reason: string;
        };
        /** `/new` or `/reset` created a new session. */
        'session:reset': {
            platform: string;
            user_id: string;
            session_key: string;
        };
        /** A summary replaced the older part of a conversation. The session keeps its id, so `old_session_id` is ''. */
        'session:compress': {
            platform: string;
            session_id: string;
            old_session_id: string;
            in_place: boolean;
            compression_count: number;
        };
        /** The agent starts to handle a message. `message` is truncated to 500 code points, `message_full` is complete. */
        'agent:start': AgentContext;
        /** A model call with its tools. `iteration` counts from 1; `tool_names` are the tools of the previous iteration. */
        'agent:step': {
            platform: string;
            user_id: string;
            session_id: string;
            iteration: number;
            tool_names: string[];
            tools: {
                name: string;
                result: string;
            }[];
        };
        /** The agent has finished; the reply is stored but not yet sent. */
        'agent:end': AgentContext & {
            response: string;
            response_full: string;
            model: string;
            provider: string;
        };
        /** A known slash command, by its canonical name. */
        [command: `command:${string}`]: {
            platform: string;
            user_id: string;
            command: string;
            args: string;
            raw_command: string;
            raw_args: string;
        };
        /** A message or command was accepted, or accepted again after an edit. It may wait in the queue. */
        'message:received': MessageContext & {
            session_key: string;
            message_id: string;
        };
        /** A message was refused because its author has no access. */
        'message:refused': MessageContext & {
            reason: string;
            message_id: string;
        };
        /** The platform accepted a reply or a notice. A long reply is several messages. Messages of hooks emit no event. */
        'message:sent': SentContext & {
            message_id: string;
        };
        /** A message became a dead letter. */
        'message:failed': SentContext & {
            error: string;
        };
        /** A user is asked to approve a command or to confirm `/new`. */
        'approval:requested': ApprovalContext & {
            message: string;
            choices: string[];
        };
        /** A question was answered or has expired. */
        'approval:resolved': ApprovalContext & {
            outcome: string;
            answer: string;
            resolved_by: string;
        };
        /** A user reacted to a message. `reaction` is the emoji, or the platform's name of it. */
        'reaction:added': ReactionContext;
        /** A user removed a reaction. */
        'reaction:removed': ReactionContext;
    }
    interface ReactionContext {
        platform: string;
        reaction: string;
        /** The user who reacted. */
        user_id: string;
        /** The author of the message; '' if the platform does not report it. */
        item_user_id: string;
        /** Always `message`. */
        item_type: string;
        channel_id: string;
        /** The platform's id of the message. */
        message_ts: string;
        /** The workspace or guild, or ''. */
        team_id: string;
        /** Seconds since 1970, with six decimals. */
        event_ts: string;
        /** The payload of the platform. */
        raw_event: Readonly<Record<string, unknown>>;
    }
    interface MessageContext {
        platform: string;
        user_id: string;
        chat_id: string;
        /** '' without a thread. */
        thread_id: string;
        /** `dm`, `group`, `channel`, `thread` or `forum`. */
        chat_type: string;
        /** Truncated to 500 code points. */
        message: string;
        message_full: string;
    }
    interface SentContext {
        platform: string;
        chat_id: string;
        /** '' without a thread. */
        thread_id: string;
        /** '' outside a session. */
        session_key: string;
        /** `reply`: a text of the agent. `notice`: a text of the gateway. */
        kind: string;
        /** Truncated to 500 code points. */
        message: string;
        message_full: string;
    }
    interface ApprovalContext {
        platform: string;
        /** The user whose action waits for the answer. */
        user_id: string;
        chat_id: string;
        /** '' without a thread. */
        thread_id: string;
        session_key: string;
        approval_id: string;
        /** `approval`, `slash-confirm` or `clarify`. */
        kind: string;
    }
    interface AgentContext {
        platform: string;
        user_id: string;
        session_id: string;
        session_key: string;
        chat_id: string;
        /** '' without a thread. */
        thread_id: string;
        /** `dm`, `group`, `channel`, `thread` or `forum`. */
        chat_type: string;
        message: string;
        message_full: string;
    }
    export type HookEventName = keyof HookEvents & string;
    /** The payload of any event. */
    export type HookContext = HookEvents[HookEventName];
    /** Every event except `command:<name>`, which exists for each command. */
    export const hookEventNames: readonly string[];
    /** The third argument of a handler. */
    export interface HookServices {
        /** Aborts when the handler must end. */
        readonly signal: AbortSignal;
        /** Writes to the log of the gateway: a text, then fields. */
        readonly log: Readonly<Record<'debug' | 'info' | 'warn' | 'error', (text: string, fields?: Readonly<Record<string, unknown>>) => void>>;
        readonly gateway: {
            /** Sends a message to `<platform>` (its home channel) or `<platform>:<chat_id>[:<thread_id>]`; resolves once it is stored. */
            send(target: string, text: string): Promise<unknown>;
            /**
             * Starts the agent in a separate session. Resolves at once with the id of the task. Without `role` it has that of the
             * person whose event is handled, and that of the owner for an event of the gateway itself.
             */
            startAgent(prompt: string, options?: {
                readonly maxIterations?: number;
                readonly deliver?: string;
                readonly route?: string;
                readonly role?: Role;
            }): Promise<string>;
        };
    }
    /** Receives every event in order. Must not throw or block; a listener queues its work. */
    export type HookEventListener = <Name extends HookEventName>(name: Name, context: HookEvents[Name]) => void;
    /** Truncates a text to 500 code points for hook payloads. */
    export function truncateForHooks(text: string): string;
    /** The common payload of the events of a turn. */
    export function createAgentContext({ source, text }: Pick<MessageEvent, 'source' | 'text'>, sessionId: string, sessionKey: string): AgentContext;
    export {};
}

declare module 'hermes-gateway:message/ids' {
    /**
     * The branded ids of messages, sessions and turns, and the queues of a session.
     */
    import type { Brand } from 'hermes-gateway:lib/ids';
    /** Identifies a conversation: `agent:main:telegram:dm:42` (contract §3.3). */
    export type SessionKey = Brand<'SessionKey'>;
    /** One session of a conversation, from a reset to the next: `YYYYMMDD_HHMMSS_<8 hex>`. */
    export type SessionId = Brand<'SessionId'>;
    /** One turn, a uuid v7. */
    export type TurnId = Brand<'TurnId'>;
    /** The permanent unique id of an event: `tg:<bot>:<update_id>`. The inbox deduplicates by it. */
    export type EventKey = Brand<'EventKey'>;
    /** `turn`: one at a time per session, in order. `control`: commands that do not wait for a turn. */
    export type QueueKind = 'turn' | 'control';
}

declare module 'hermes-gateway:message/outbound' {
    /**
     * Outgoing messages and the result of sending them (contract §3.1, `SendResult`).
     */
    import type { Target } from 'hermes-gateway:message/source';
    export interface OutboundMessage {
        /** Stable across retries; used as the idempotency key where a platform supports one. */
        readonly deliveryId: string;
        readonly target: Target;
        /** Markdown, which the adapter renders for the platform. With an attachment: its caption, or ''. */
        readonly text: string;
        /** `draft`: incomplete and edited later. `notice`: a message of the gateway, not of the model. */
        readonly kind: 'reply' | 'notice' | 'draft';
        /** The platform's id of the message that this one replies to. */
        readonly replyTo?: string;
        /** A text before tool calls: the final reply of the turn follows. */
        readonly interim?: true;
        /** The turn of the message; absent outside a turn. */
        readonly turnId?: string;
        /** A file to send; only adapters with `sendsAttachments` receive it. */
        readonly attachment?: OutboundAttachment;
        /** Buttons below the text; only adapters with `showsButtons` receive them. */
        readonly buttons?: readonly Button[];
    }
    /** A file that is sent as a separate message (contract §3.8). */
    export interface OutboundAttachment {
        readonly kind: 'image' | 'animation' | 'video' | 'audio' | 'voice' | 'document';
        readonly fileName: string;
        readonly mimeType: string;
        readonly source: {
            readonly kind: 'url';
            readonly url: string;
        }
        /** The blob reads from disk on demand, until the call with this message has ended. A file that changes cannot be read. */
         | {
            readonly kind: 'file';
            readonly bytes: number;
            open(): Promise<Blob>;
        };
    }
    /** Files of one reply that are sent by one call. */
    export interface OutboundAlbum extends Pick<OutboundMessage, 'deliveryId' | 'target' | 'kind' | 'replyTo' | 'turnId'> {
        /** In the order of the reply; two at least. */
        readonly files: readonly AlbumFile[];
    }
    export interface AlbumFile {
        /** Markdown, or ''. */
        readonly caption: string;
        readonly attachment: OutboundAttachment;
    }
    /** A button. A press is reported to `PlatformContext.press` with its id. */
    export interface Button {
        /** At most 64 bytes, letters, digits, `:`, `_` and `-`. */
        readonly id: string;
        readonly label: string;
        readonly style?: 'primary' | 'danger';
        /** The answer is the next message of the user; a press changes nothing. */
        readonly isText?: true;
    }
    /** Determines the next step of the sender: wait, retry later, fail the delivery, stop the account. */
    export type SendFailureKind = 'rate-limited' | 'temporary' | 'rejected' | 'unauthorised';
    export type SendResult = {
        readonly success: true;
        readonly messageId?: string;
    } | {
        readonly success: false;
        readonly problem: SendFailureKind;
        readonly error: string;
        /** Only with `rate-limited`: no call is allowed earlier. */
        readonly retryAfterMs?: number;
        /** Only with `rate-limited`: the scope of the limit. Default: the chat. */
        readonly scope?: 'chat' | 'account';
        /**
         * True when the platform may have accepted the message although its response was lost. The outbox then checks the
         * chat, or delivers the message again with a visible label.
         */
        readonly maybeSent?: boolean;
        /**
         * Only with `rejected`: the chat takes no message at all any more, because it does not exist or the bot was blocked or
         * removed. Messages that no one there asked for are then not sent until the chat shows life.
         */
        readonly chatGone?: true;
    };
    export type AlbumResult = 
    /** `messageIds`: one for each file in their order, or only one when a single message contains all files. */
    {
        readonly success: true;
        readonly messageIds?: readonly string[];
    } | Extract<SendResult, {
        success: false;
    }>;
}

declare module 'hermes-gateway:message/source' {
    /**
     * The source of a message and the target of a reply (contract §3.1, `SessionSource`).
     */
    export type ChatType = 'dm' | 'group' | 'channel' | 'thread' | 'forum';
    export interface SessionSource {
        /** The name of the platform, which is the name of its directory: `telegram`. */
        readonly platform: string;
        /** A bot identity on the platform; `default` when only one is configured. */
        readonly account: string;
        readonly chatId: string;
        readonly chatType: ChatType;
        readonly chatName?: string;
        readonly userId?: string;
        readonly userName?: string;
        readonly threadId?: string;
        readonly chatTopic?: string;
        /** A more stable id of the user, if the platform has one; preferred in session keys. */
        readonly userIdAlt?: string;
        readonly chatIdAlt?: string;
        readonly isBot?: boolean;
        /** Guild or workspace. */
        readonly scopeId?: string;
        readonly parentChatId?: string;
        readonly messageId?: string;
        /** The adapter has verified that a role of the user permits the use of the bot. */
        readonly roleAuthorized?: boolean;
        readonly profile?: string;
        /** The thread that will be created for this message; the session key already contains it. */
        readonly prospectiveThreadId?: string;
    }
    /** The reserved platform name for work that the gateway starts itself. */
    export const backgroundPlatform = "background";
    /** The reserved platform name of scheduled jobs. */
    export const cronPlatform = "cron";
    /** The platform of the command line, whose conversations hooks and plugins tell from those of chats (seed 001). */
    export const commandLinePlatform = "cli";
    /** Whether the gateway uses the name itself, for turns that no chat waits for. */
    export function isReservedPlatform(name: string): boolean;
    /** The address of a reply. */
    export interface Target {
        readonly platform: string;
        readonly account: string;
        readonly chatId: string;
        readonly threadId?: string;
    }
    export function targetOf(source: SessionSource): Target;
}

declare module 'hermes-gateway:message/tool-view' {
    /**
     * A tool call as people read it: one line for a list, and the parts that a page shows when the call is opened.
     */
    /** One call of a turn, as a list shows it. */
    export interface ToolCallSummary {
        readonly turnId: string;
        readonly callId: string;
        readonly tool: string;
        /** `interrupted`: it did not end, or ended without a result. */
        readonly state: 'done' | 'failed' | 'interrupted';
        /** What it worked on. One line without secrets, '' for none. */
        readonly label: string;
        /** What came of it. One line without secrets, '' for none. */
        readonly summary: string;
        /** ms since 1970. */
        readonly startedAt: number;
        readonly endedAt: number;
    }
    /** What a call did, for a page. No text has secrets or hidden characters; all of them are plain text unless stated otherwise. */
    export interface ToolView {
        readonly parts: readonly ToolViewPart[];
        /** Texts or lists were cut. A view of the whole has more. */
        readonly isCut: boolean;
    }
    export type ToolViewPart = 
    /** A command, or a script, and what it printed. */
    {
        readonly kind: 'command';
        /** '' if it is not known. */
        readonly command: string;
        readonly language: 'shell' | 'python';
        readonly output: string;
        readonly exitCode?: number;
        /** `killed after 30 s`, `running`; '' for none. */
        readonly state: string;
    }
    /** Lines of a file. */
     | {
        readonly kind: 'lines';
        readonly path: string;
        readonly first: number;
        readonly text: string;
    }
    /** Changes of one file. `text`: hunks of a unified diff, without the names of the files. */
     | {
        readonly kind: 'diff';
        readonly path: string;
        readonly added: number;
        readonly removed: number;
        readonly text: string;
    }
    /** Lines of one file that a search has found. `marks`: texts to mark in them, in any case. */
     | {
        readonly kind: 'matches';
        readonly path: string;
        readonly lines: readonly {
            readonly line: number;
            readonly text: string;
            readonly isContext?: true;
        }[];
        readonly marks: readonly string[];
    } | {
        readonly kind: 'files';
        readonly files: readonly string[];
    }
    /** `url` is one of http or https; '' for none. */
     | {
        readonly kind: 'links';
        readonly links: readonly {
            title: string;
            url: string;
            text: string;
        }[];
    } | {
        readonly kind: 'todos';
        readonly items: readonly {
            content: string;
            status: 'pending' | 'in_progress' | 'completed' | 'cancelled';
        }[];
    }
    /** `name`: of a stored file, as in `PlatformFiles.open`. The sizes are in pixels, and 0 if they are not known. */
     | {
        readonly kind: 'pictures';
        readonly pictures: readonly {
            name: string;
            width: number;
            height: number;
        }[];
    } | {
        readonly kind: 'agents';
        readonly agents: readonly {
            goal: string;
            status: string;
            text: string;
        }[];
    }
    /** `markdown`: the text is Markdown. `title` may be ''. */
     | {
        readonly kind: 'text';
        readonly title: string;
        readonly text: string;
        readonly markdown: boolean;
    } | {
        readonly kind: 'fields';
        readonly fields: readonly {
            name: string;
            value: string;
        }[];
    } | {
        readonly kind: 'error';
        readonly text: string;
        readonly code: string;
    };
}

declare module 'hermes-gateway:message/transcript' {
    /**
     * The messages of a conversation in the chat format of OpenAI (contract §4.1), as they are stored and sent to the model.
     * The system prompt is not one of them.
     */
    export interface ToolCall {
        readonly id: string;
        readonly name: string;
        /** JSON text exactly as the model wrote it; it may be malformed. */
        readonly arguments: string;
    }
    /**
     * A picture of a message: a reference to a file that is stored once (`media/pictures.ts`). The file is read when a request is
     * sent, so that no message holds its content.
     */
    export interface ImagePart {
        readonly type: 'image';
        /** Its name in the folder of pictures: `<SHA-256 of the content>.<extension of the type>`. */
        readonly file: string;
        readonly mimeType: ImageType;
        readonly bytes: number;
        /** Pixels. */
        readonly width: number;
        /** Pixels. */
        readonly height: number;
    }
    /** The types that models of all vendors read. */
    export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
    export interface UserMessage {
        readonly role: 'user';
        /** All text of the message. Each picture has a line with its path in it, which is what a model that cannot see receives. */
        readonly content: string;
        /** What a model that can see receives besides the text. Absent in a message without pictures. */
        readonly images?: readonly ImagePart[];
    }
    export interface AssistantMessage {
        readonly role: 'assistant';
        readonly content: string;
        readonly toolCalls?: readonly ToolCall[];
        /**
         * Data that the provider requires unchanged in the next request (reasoning items, signed thinking blocks).
         * Sent only to the model that created it.
         */
        readonly providerData?: ProviderData;
    }
    export interface ProviderData {
        readonly apiMode: string;
        /** The address of the API. Absent in messages of earlier versions, as is the model. */
        readonly baseUrl?: string;
        readonly model?: string;
        readonly items: readonly unknown[];
    }
    export interface ToolMessage {
        readonly role: 'tool';
        readonly toolCallId: string;
        readonly name: string;
        readonly content: string;
        /** The pictures, like those of a user. */
        readonly images?: readonly ImagePart[];
    }
    export type ChatMessage = UserMessage | AssistantMessage | ToolMessage;
    export function hasImages(message: ChatMessage): boolean;
    /** The messages as a model that does not see gets them. */
    export function withoutImages(messages: readonly ChatMessage[]): readonly ChatMessage[];
    /** Tokens of one or several model calls, as the provider counted them. */
    export interface Usage {
        readonly inputTokens: number;
        readonly outputTokens: number;
        readonly cachedInputTokens: number;
        readonly cacheWriteTokens: number;
        /** US dollars, of the tokens whose price is known. Absent when none is. */
        readonly cost?: number;
        /** Tokens in a sum with a `cost` whose price is not known; absent for none. */
        readonly unpricedTokens?: number;
    }
    /** The tokens whose price is not known. */
    export function unpricedTokens({ inputTokens, outputTokens, cost, unpricedTokens: unpriced }: Usage): number;
    export const noUsage: Usage;
    export function addUsage(a: Usage, b: Usage): Usage;
}

declare module 'hermes-gateway:message/turn-result' {
    /**
     * The result of a turn or a command.
     */
    /** `interrupted`: a newer message ended the turn, and its own turn continues the work. */
    export type TurnStatus = 'done' | 'failed' | 'stopped' | 'interrupted';
    /** Why the model ended before the end of its answer: the limit of its output, or the filter of its vendor. */
    export type CutOffReason = 'length' | 'content_filter';
    /** The result of an event once its turn or command has ended. */
    export interface TurnResult {
        readonly status: TurnStatus;
        /** The reply, or the notice that explains a failure. */
        readonly text: string;
        readonly sessionId: string;
        readonly model: string;
        readonly usage: {
            readonly inputTokens: number;
            readonly outputTokens: number;
            /** US dollars, of the tokens whose price is known. */
            readonly cost?: number;
        };
        /** Only with `failed`: the code of the error catalogue. */
        readonly errorCode?: string;
        /** Only with `done`, if the text is not complete. */
        readonly cutOff?: CutOffReason;
        /** Only with `interrupted`: the number of the newer message. */
        readonly interruptedBy?: number;
    }
}

declare module 'hermes-gateway:message/untrusted-text' {
    /**
     * A name, a title, a quote or a file name as one line without brackets.
     * @param limitChars in UTF-16 units; an ellipsis follows
     */
    export function toLabel(text: string, limitChars: number): string;
    /** A name as Markdown. Plain words stay unchanged; any other text becomes a code span, in which nothing is a link. */
    export function toMarkdownLabel(text: string, limitChars?: number): string;
    /** The lines by which a text says where it comes from, and which its author must not imitate. Texts, in any case. */
    export interface ReservedLines {
        /** How lines in brackets begin, without the bracket. */
        readonly brackets?: readonly string[];
        /** How other lines begin. */
        readonly headings?: readonly string[];
    }
    /**
     * Creates a filter for texts of people. Brackets of a reserved line become parentheses, and a reserved heading is quoted with
     * `> `. An adapter filters what people wrote before it adds such lines of its own. Linear time.
     */
    export function createLineFilter({ brackets: inBrackets, headings, }: ReservedLines): (text: string) => string;
    export interface MessageTextOptions {
        /** Several people write in the session: every line in brackets looks like a message of another person. */
        readonly shared: boolean;
        /** The text does not begin a line: it follows the name of its author. */
        readonly followsName: boolean;
    }
    /** The text of a message. Brackets that imitate a line of the gateway become parentheses. */
    export function toMessageText(text: string, { shared, followsName }: MessageTextOptions): string;
}

declare module 'hermes-gateway:middleware/contract' {
    /**
     * The types of managed calls: the callbacks that may be registered, what they receive and what they return.
     *
     * There are two families (design, "Managed calls"): NeMo's guardrails, intercepts and sanitizers, which fail closed
     * (seed 002; `contract/middleware.md` §1), and Hermes' four kinds, which fail open (seed 000; `contract/hermes.md` §2.8).
     * Every callback receives one object. Nothing is built, copied or timed for a call without registrations.
     */
    /** A plain JSON object. */
    export type Fields = Readonly<Record<string, unknown>>;
    /** A value or a promise of it. */
    export type Awaitable<Value> = Value | Promise<Value>;
    export type ScopeType = 'agent' | 'function' | 'tool' | 'llm' | 'retriever' | 'embedder' | 'reranker' | 'guardrail' | 'evaluator' | 'custom' | 'unknown';
    /**
     * A unit of work: session ⊃ turn ⊃ iteration ⊃ call. Registrations on a scope apply to everything that runs inside it and are
     * removed when it closes.
     */
    export interface Scope extends MiddlewareRegistrar {
        /** Uuid v7. */
        readonly uuid: string;
        readonly name: string;
        readonly type: ScopeType;
        /** Undefined for a root. */
        readonly parent: Scope | undefined;
        readonly closed: boolean;
        /** Publishes an event at a point in time, within this scope. */
        mark(name: string, data?: unknown, metadata?: Fields): void;
    }
    export interface ScopeSpec {
        readonly name: string;
        /** Default: `function`. */
        readonly type?: ScopeType;
        /** The `data` of the start event. */
        readonly input?: unknown;
        readonly metadata?: Fields;
        /** Default: the current scope. `null` opens a new root, as sessions do. */
        readonly parent?: Scope | null;
    }
    interface CallView {
        /** The scope that the call runs in. */
        readonly scope: Scope;
        /** Aborts when the result of the call is no longer needed. */
        readonly signal: AbortSignal;
        /** Context of the call: `session_id`, `turn_id`, `platform`, `route` … */
        readonly fields: Fields;
    }
    export interface ToolCallView<Args = Fields> extends CallView {
        readonly toolName: string;
        readonly toolCallId: string;
        readonly args: Args;
    }
    export interface ModelCallView<Request = Fields> extends CallView {
        readonly provider: string;
        readonly model: string;
        /** The format of the request and of the response: `api_mode` of `fields`; '' if the caller gives none. */
        readonly apiMode: string;
        readonly request: Request;
    }
    /** Null or undefined allows the call. A string rejects it and is the reason. Any other value is an error. */
    export type GuardrailDecision = string | null | undefined;
    /** Replaces the whole request. Returning undefined instead is an error. */
    export interface RewrittenRequest {
        readonly request: Fields;
        /** Published right after the start event. */
        readonly pendingMarks?: readonly PendingMark[];
    }
    export interface PendingMark {
        readonly name: string;
        readonly data?: unknown;
        readonly metadata?: Fields;
    }
    /**
     * Runs the rest of the call with the given input; without one, with the input that the intercept received. May be called any
     * number of times, in sequence or in parallel. Each call runs the tool or the provider: a tool with a side effect repeats it,
     * and the journal records only the first. Rejects once the intercept has settled.
     */
    export type Next<Input, Output> = (input?: Input) => Promise<Output>;
    export interface Intercepts {
        /** Returns the arguments that replace the ones it received. */
        readonly tool_request: (call: ToolCallView) => Awaitable<Fields>;
        readonly model_request: (call: ModelCallView) => Awaitable<RewrittenRequest>;
        /** Wraps or replaces the call. Results are passed on unchanged. */
        readonly tool_execution: (call: ToolCallView, next: Next<Fields, unknown>) => Awaitable<unknown>;
        readonly model_execution: (call: ModelCallView, next: Next<Fields, unknown>) => Awaitable<unknown>;
        /** Wraps the chunks. Nothing is read ahead. Closing the returned stream closes the streams that `next` returned. */
        readonly model_stream: (call: ModelCallView, next: Next<Fields, AsyncIterable<unknown>>) => Awaitable<AsyncIterable<unknown>>;
    }
    export interface Guardrails {
        readonly tool: (call: ToolCallView) => Awaitable<GuardrailDecision>;
        readonly model: (call: ModelCallView) => Awaitable<GuardrailDecision>;
    }
    /**
     * Change what subscribers receive, never the call. Returning null or undefined, or throwing, omits the payload and skips the
     * remaining sanitizers.
     */
    export interface Sanitizers {
        readonly tool_request: (payload: unknown, call: {
            readonly toolName: string;
        }) => Awaitable<unknown>;
        readonly tool_response: (payload: unknown, call: {
            readonly toolName: string;
        }) => Awaitable<unknown>;
        readonly model_request: (payload: unknown, call: {
            readonly provider: string;
            readonly model: string;
        }) => Awaitable<unknown>;
        readonly model_response: (payload: unknown, call: {
            readonly provider: string;
            readonly model: string;
        }) => Awaitable<unknown>;
        /** The return value replaces the three fields of the event that may carry user content. A throw clears all three. */
        readonly mark: (event: ManagedEvent, parts: EventFields) => Awaitable<EventFields>;
        readonly scope_start: (event: ManagedEvent, parts: EventFields) => Awaitable<EventFields>;
        readonly scope_end: (event: ManagedEvent, parts: EventFields) => Awaitable<EventFields>;
    }
    export interface EventFields {
        readonly data: unknown;
        readonly category_profile: Fields | null;
        readonly metadata: Fields | null;
    }
    /** Returned by the two request kinds. Null, undefined or a missing key means no change. */
    export interface RewriteResult extends Partial<RewriteTraceEntry> {
        readonly request?: Fields;
        readonly args?: Fields;
    }
    /** Describes a rewrite, as its plugin reports it. */
    export interface RewriteTraceEntry {
        readonly source: string;
        readonly reason: string;
        readonly name: string;
    }
    interface HermesPayload {
        readonly telemetry_schema_version: 'hermes.observer.v1';
        readonly middleware_schema_version: 'hermes.middleware.v1';
        readonly scope: Scope;
        readonly signal: AbortSignal;
        /** `session_id`, `task_id`, `turn_id`, `api_request_id`, `provider`, `model`, `api_mode`, `platform`, `route` … */
        readonly [key: string]: unknown;
    }
    export interface LlmRequestPayload<Request = Fields> extends HermesPayload {
        readonly request: Request;
        readonly original_request: Request;
    }
    export interface ToolRequestPayload extends HermesPayload {
        readonly tool_name: string;
        readonly tool_call_id: string;
        readonly args: Fields;
        readonly original_args: Fields;
    }
    /**
     * The return value of an execution callback is the result of the call. After `next_call`, returning undefined keeps the result;
     * without `next_call`, undefined is the result. A failure of the rest never turns into null or undefined.
     */
    export interface LlmExecutionPayload<Request = Fields, Response = unknown> extends LlmRequestPayload<Request> {
        readonly middleware_trace: readonly Partial<RewriteTraceEntry>[];
        /** May be called once. A second call rejects with `middleware/next-called-twice` and has no effect. */
        readonly next_call: (request?: Fields | null) => Promise<Response>;
    }
    export interface ToolExecutionPayload extends ToolRequestPayload {
        readonly middleware_trace: readonly Partial<RewriteTraceEntry>[];
        /** May be called once. A second call rejects with `middleware/next-called-twice` and has no effect. */
        readonly next_call: (args?: Fields | null) => Promise<unknown>;
    }
    export interface HermesMiddlewareKinds {
        readonly llm_request: (payload: LlmRequestPayload) => Awaitable<RewriteResult | null | undefined>;
        readonly tool_request: (payload: ToolRequestPayload) => Awaitable<RewriteResult | null | undefined>;
        readonly llm_execution: (payload: LlmExecutionPayload) => Awaitable<unknown>;
        readonly tool_execution: (payload: ToolExecutionPayload) => Awaitable<unknown>;
        /** The older names of `llm_request` and `llm_execution`. */
        readonly api_request: HermesMiddlewareKinds['llm_request'];
        readonly api_execution: HermesMiddlewareKinds['llm_execution'];
    }
    /** `closed`: the call fails with the error. `open`: the error is logged and the call continues without the callback. */
    export type FailureMode = 'open' | 'closed';
    export interface RegistrationOptions {
        /** Lower values run first and wrap higher ones. Default: 0. */
        readonly priority?: number;
        /** Default: the mode of the family. */
        readonly fails?: FailureMode;
    }
    export interface ExecutionOptions extends RegistrationOptions {
        /**
         * For wrappers of model calls: what becomes of the model's text. `unchanged`: the wrapper returns the response of the model,
         * so the text is shown while it is streamed. `replaced`: the wrapper returns another text, so nothing is shown before the call
         * has ended. Default: chats show the streamed text and replace it by an edit if the wrapper returns another one; the stream of
         * the API, which cannot be edited, waits for the end of the call.
         */
        readonly answers?: AnswerMode;
    }
    export type AnswerMode = 'unchanged' | 'replaced';
    export interface InterceptOptions extends ExecutionOptions {
        /** For request intercepts: skips the ones after this one. */
        readonly breakChain?: boolean;
    }
    export interface Registration {
        readonly name: string;
        /** Removes the registration; running calls keep it. Returns false if it was removed before. */
        remove(): boolean;
    }
    /**
     * Implemented by three levels: global (`Middleware`), a plugin (`Middleware.forPlugin`) and a scope. Names are unique within a
     * registry of a level: a second registration throws `middleware/name-taken`.
     */
    export interface MiddlewareRegistrar {
        registerGuardrail<On extends keyof Guardrails>(name: string, on: On, guardrail: Guardrails[On], options?: RegistrationOptions): Registration;
        registerIntercept<Point extends keyof Intercepts>(name: string, point: Point, intercept: Intercepts[Point], options?: InterceptOptions): Registration;
        registerSanitizer<Point extends keyof Sanitizers>(name: string, point: Point, sanitizer: Sanitizers[Point], options?: Pick<RegistrationOptions, 'priority'>): Registration;
        /** Receives events from a queue, so that it never delays a call. Its errors are logged. */
        registerSubscriber(name: string, subscriber: (event: ManagedEvent) => Awaitable<void>, options?: SubscriberOptions): Registration;
        registerMiddleware<Kind extends keyof HermesMiddlewareKinds>(kind: Kind, callback: HermesMiddlewareKinds[Kind], options?: ExecutionOptions): Registration;
    }
    export interface SubscriberOptions {
        /**
         * The subscriber receives a mark `llm.chunk` with `{ chunk_index }` for each chunk of a model call as well.
         * Default: false.
         */
        readonly chunks?: boolean;
    }
    /** Serialises to the format of ATOF, with timestamps in microseconds. */
    export interface ManagedEvent {
        readonly kind: 'scope' | 'mark';
        readonly atof_version: '0.1';
        readonly uuid: string;
        readonly parent_uuid: string | null;
        /** ISO 8601, UTC, six decimals. Formatted on each read. */
        readonly timestamp: string;
        /** Microseconds since 1970. */
        readonly timestampUs: number;
        readonly name: string;
        /** Set for scope events. */
        readonly scope_category?: 'start' | 'end';
        readonly category: ScopeType;
        /** `model_name`, `tool_call_id`, `time_to_first_chunk` (seconds) … */
        readonly category_profile: Fields | null;
        readonly attributes?: readonly string[];
        readonly data: unknown;
        readonly data_schema: Fields | null;
        readonly metadata: Fields | null;
    }
    export {};
}

declare module 'hermes-gateway:middleware/guardrail-rejected' {
    /**
     * The error of a call that a guardrail rejected. Callers distinguish it from a failure.
     */
    export class GuardrailRejected extends Error {
        /** Name of the guardrail. */
        readonly guardrail: string;
        /** The reason that the guardrail returned. */
        readonly reason: string;
        constructor(guardrail: string, reason: string);
    }
    /** `instanceof` can throw for a proxy. */
    export function isGuardrailRejected(error: unknown): error is GuardrailRejected;
    /** Why a guardrail rejected a call; null for any other error. */
    export function rejectionReasonOf(error: unknown): string | null;
}

declare module 'hermes-gateway:middleware/managed-call' {
    /**
     * The types for callers of the middleware: a managed call, and the middleware that runs it.
     */
    import type { Awaitable, Fields, MiddlewareRegistrar, RewriteTraceEntry, Scope, ScopeSpec } from 'hermes-gateway:middleware/contract';
    interface ManagedCall {
        readonly signal?: AbortSignal;
        /** Context for callbacks. Called at most once, and only if a callback or an event needs it. */
        fields?(): Fields;
    }
    export interface ManagedToolCall<Args extends Fields, Result> extends ManagedCall {
        readonly toolName: string;
        readonly toolCallId: string;
        readonly args: Args;
        /**
         * Decides about the effective arguments: returns the arguments to run, or throws to reject the call. Runs once, after all
         * rewrites and before the tool. `trace` lists the rewrites.
         */
        policy?(args: Args, trace: RewriteTrace): Awaitable<Args>;
        /** Runs the tool. Called once for each call of `next` that reaches it. */
        handler(args: Args, signal: AbortSignal): Promise<Result>;
    }
    export interface ManagedModelCall<Request extends Fields, Chunk, Response> extends ManagedCall {
        readonly provider: string;
        readonly model: string;
        readonly request: Request;
        /** The last rewrite (Kora, seed 003): returns the request to send. */
        rewrite?(request: Request, trace: RewriteTrace): Awaitable<Request>;
        /** Called with the effective request before it is sent. Must not change it. */
        onRequest?(request: Request, trace: RewriteTrace): void;
        /** One attempt: yields the chunks of the provider and returns the aggregated response. */
        stream(request: Request, signal: AbortSignal): AsyncGenerator<Chunk, Response, void>;
        /** Aggregates the chunks that stream intercepts return. Called only if there are such intercepts. */
        collector(): ChunkCollector<Chunk, Response>;
        /** A stream starts. When an intercept calls `next` again, a new stream starts and replaces the chunks so far. */
        onStreamStart?(): void;
        /** Receives each chunk once, after the stream intercepts. A throw fails the call. */
        onChunk?(chunk: Chunk): void;
    }
    export interface ChunkCollector<Chunk, Response> {
        add(chunk: Chunk): void;
        /** Called once. Throws if the chunks are not a complete response. */
        finish(): Response;
    }
    /**
     * `final`: it stays as it is. `provisional`: a wrapper may return another text, so it may be shown only where it can be
     * replaced. `withheld`: a wrapper replaces it, so it must not be shown.
     */
    export type StreamedText = 'final' | 'provisional' | 'withheld';
    /** The rewrites of a request, in order. */
    export type RewriteTrace = readonly Partial<RewriteTraceEntry>[];
    export interface Middleware extends MiddlewareRegistrar {
        /** The registrar of a plugin. Among equal priorities, plugins run in the order in which they were loaded. */
        forPlugin(plugin: string): MiddlewareRegistrar;
        /**
         * Runs a tool call through all registrations. Rejects with the error object that the handler threw, or with
         * `GuardrailRejected`.
         */
        tool<Args extends Fields, Result>(call: ManagedToolCall<Args, Result>): Promise<Result>;
        /** Runs one model request through all registrations. Rejects like `tool`. */
        model<Request extends Fields, Chunk, Response>(call: ManagedModelCall<Request, Chunk, Response>): Promise<Response>;
        /** Runs work in a new scope, which closes when the work has settled. Rejects as the work rejects. */
        scope<Value>(spec: ScopeSpec, work: (scope: Scope) => Promise<Value>): Promise<Value>;
        /** The scope of the running code; outside of all scopes, a root. */
        currentScope(): Scope;
        /** Runs work in an existing scope, for requests that arrive from other processes. */
        runInScope<Value>(scope: Scope, work: () => Value): Value;
        /** Whether a registration wraps model calls and so can return another response, whatever its options say. */
        canChangeModelOutput(): boolean;
        /** How the text of a model call may be shown while it is streamed. */
        streamedText(): StreamedText;
        /**
         * The registration that threw the error of a call: `"cap" of the plugin "budget"`. Null for errors of tools and providers, and
         * for values that are not objects.
         */
        errorOrigin(error: unknown): string | null;
        /** Resolves when subscribers have received all events so far. */
        flush(): Promise<void>;
        eventCounts(): {
            readonly waiting: number;
            readonly delivered: number;
            readonly dropped: number;
        };
        /** @deprecated Use `runInScope`. Removed in 0.3. */
        within: Middleware['runInScope'];
        /** @deprecated Use `canChangeModelOutput`. Removed in 0.3. */
        changesAnswers: Middleware['canChangeModelOutput'];
        /** @deprecated Use `errorOrigin`. Removed in 0.3. */
        culprit: Middleware['errorOrigin'];
        /** @deprecated Use `eventCounts`. Removed in 0.3. */
        events: Middleware['eventCounts'];
    }
    export {};
}

declare module 'hermes-gateway:middleware/middleware' {
    import type { Logger } from 'hermes-gateway:lib/log';
    import type { Middleware } from 'hermes-gateway:middleware/managed-call';
    import { type MicroClock } from 'hermes-gateway:middleware/scope';
    export interface MiddlewareDeps {
        readonly log: Logger;
        /** µs since 1970. */
        readonly now?: MicroClock;
        /** Generates a uuid of version 7 for a time, µs since 1970. */
        readonly newId?: (us: number) => string;
        /** Events beyond this number are dropped and counted. Default: 32,768. */
        readonly maxQueuedEvents?: number;
        /** How long an aborted call may take to settle. Default: 5 s. */
        readonly graceMs?: number;
        /** How long a subscriber may take for one event before the queue moves on. Default: 30 s. */
        readonly subscriberTimeoutMs?: number;
    }
    export function createMiddleware(deps: MiddlewareDeps): Middleware;
}

declare module 'hermes-gateway:middleware/registry' {
    import type { AnswerMode, Awaitable, Guardrails, HermesMiddlewareKinds, InterceptOptions, Intercepts, ManagedEvent, MiddlewareRegistrar, Registration, Sanitizers, SubscriberOptions } from 'hermes-gateway:middleware/contract';
    export interface Entry<Callback> {
        readonly name: string;
        /** Undefined for registrations outside of plugins. */
        readonly plugin: string | undefined;
        readonly callback: Callback;
        readonly priority: number;
        readonly failsOpen: boolean;
        readonly breakChain: boolean;
        /** Only for wrappers of model calls. */
        readonly answers: AnswerMode | undefined;
        /** Only for subscribers. */
        readonly receivesChunks: boolean;
    }
    export type Entries<Callback> = readonly Entry<Callback>[];
    export interface RegistryOptions {
        /** Names are unique and order entries of equal priority. Otherwise the order of registration does. */
        readonly uniqueNames: boolean;
        /** Failure mode of registrations that do not set `fails`. */
        readonly failsOpen: boolean;
    }
    export class Registry<Callback> {
        /** Each change creates a new array, so that a reference to it is a snapshot. */
        entries: Entries<Callback>;
        readonly registryOptions: RegistryOptions;
        constructor(options: RegistryOptions);
        /** Throws `middleware/bad-registration` and `middleware/name-taken`. `onRemoved` is called when the entry is removed. */
        add(name: string, plugin: string | undefined, callback: Callback, options: InterceptOptions & SubscriberOptions, onRemoved: () => void): Registration;
    }
    export type Subscriber = (event: ManagedEvent) => Awaitable<void>;
    /** Without the older names, which share the registries of the newer ones. */
    export type HermesCallbacks = Omit<HermesMiddlewareKinds, 'api_request' | 'api_execution'>;
    /** The registries of all families. */
    export interface Families {
        readonly guardrails: {
            readonly [On in keyof Guardrails]: Registry<Guardrails[On]>;
        };
        readonly intercepts: {
            readonly [Point in keyof Intercepts]: Registry<Intercepts[Point]>;
        };
        readonly sanitizers: {
            readonly [Point in keyof Sanitizers]: Registry<Sanitizers[Point]>;
        };
        readonly hermes: {
            readonly [Kind in keyof HermesCallbacks]: Registry<HermesCallbacks[Kind]>;
        };
        readonly subscribers: Registry<Subscriber>;
    }
    /** The registrations of one level. */
    export interface RegistrationScope extends Families {
        /** Incremented with each change. */
        version: number;
        /** Number of registrations. */
        count: number;
    }
    export function createRegistrationScope(): RegistrationScope;
    export interface RegistrarDeps {
        readonly registrations: RegistrationScope;
        readonly plugin: string | undefined;
        /** Called for each registration (`1`) and each removal (`-1`). */
        onChange(by: 1 | -1): void;
        /** False once the level is closed and its registrations are removed. */
        isActive(): boolean;
    }
    export function createRegistrar({ registrations, plugin, onChange, isActive }: RegistrarDeps): MiddlewareRegistrar;
}

declare module 'hermes-gateway:middleware/scope' {
    /**
     * Scopes: the tree of running work, the registrations on each part of it, and the clock that dates them. A scope is cheap:
     * its id is generated on first read, its registries are created with the first registration.
     */
    import type { AsyncLocalStorage } from 'node:async_hooks';
    import type { Awaitable, ExecutionOptions, Fields, Guardrails, HermesMiddlewareKinds, InterceptOptions, Intercepts, ManagedEvent, Registration, RegistrationOptions, Sanitizers, Scope, ScopeType, SubscriberOptions } from 'hermes-gateway:middleware/contract';
    import type { Middleware } from 'hermes-gateway:middleware/managed-call';
    import { type Snapshot } from 'hermes-gateway:middleware/snapshot';
    /** Microseconds since 1970. */
    export type MicroClock = () => number;
    export interface ScopeContext {
        /** The scope that the running code is in. */
        readonly storage: AsyncLocalStorage<ScopeNode>;
        /** The scope of code outside of every scope. Created on first use. */
        root: ScopeNode | undefined;
        /** Number of registrations at all levels. */
        registered: number;
        readonly now: MicroClock;
        /** The registrations of the global level and of plugins. */
        baseSnapshot(): Snapshot;
        newId(us: number): string;
        publishStart(scope: ScopeNode, input: unknown, metadata: Fields): void;
        publishEnd(scope: ScopeNode, metadata: Fields, failure: {
            readonly error: unknown;
        } | undefined): void;
        publishMark(scope: ScopeNode, name: string, data: unknown, metadata: Fields | undefined): void;
    }
    export class ScopeNode implements Scope {
        #private;
        readonly name: string;
        readonly type: ScopeType;
        readonly parent: ScopeNode | undefined;
        /** µs since 1970. */
        readonly startedUs: number;
        closed: boolean;
        /** Whether events may name it as their parent: false for the root, which has no events of its own. */
        readonly isPublished: boolean;
        constructor(context: ScopeContext, name: string, type: ScopeType, parent: ScopeNode | undefined, startedUs: number, isPublished: boolean);
        get uuid(): string;
        /** The `parent_uuid` of events in this scope. */
        get publishedUuid(): string | null;
        mark(name: string, data?: unknown, metadata?: Fields): void;
        /** The registrations that apply in this scope at this moment. */
        get snapshot(): Snapshot;
        /** Whether this is `other` or one of its descendants. */
        isWithin(other: ScopeNode): boolean;
        /** Removes the registrations of this scope. May be called twice. */
        close(): void;
        registerGuardrail<On extends keyof Guardrails>(name: string, on: On, guardrail: Guardrails[On], options?: RegistrationOptions): Registration;
        registerIntercept<Point extends keyof Intercepts>(name: string, point: Point, intercept: Intercepts[Point], options?: InterceptOptions): Registration;
        registerSanitizer<Point extends keyof Sanitizers>(name: string, point: Point, sanitizer: Sanitizers[Point], options?: Pick<RegistrationOptions, 'priority'>): Registration;
        registerSubscriber(name: string, subscriber: (event: ManagedEvent) => Awaitable<void>, options?: SubscriberOptions): Registration;
        registerMiddleware<Kind extends keyof HermesMiddlewareKinds>(kind: Kind, callback: HermesMiddlewareKinds[Kind], options?: ExecutionOptions): Registration;
    }
    export function createScopes(context: ScopeContext): Pick<Middleware, 'scope' | 'currentScope' | 'runInScope'>;
    /** The scope of the running code; outside of every scope, a root that lives as long as the process. */
    export function currentScope(context: ScopeContext): ScopeNode;
    /** Wall time with the resolution of the monotonic clock. */
    export function createMicroClock(wall?: () => number, monotonic?: () => number): MicroClock;
}

declare module 'hermes-gateway:middleware/snapshot' {
    /**
     * Snapshots of the registrations that apply to a stage, in order: by ascending priority, then global, plugins and scopes from
     * the outermost to the innermost. Later registrations do not change a snapshot.
     */
    import type { Guardrails, Intercepts, Sanitizers } from 'hermes-gateway:middleware/contract';
    import type { Entries, Families, HermesCallbacks, Subscriber } from 'hermes-gateway:middleware/registry';
    export interface Snapshot {
        readonly guardrails: {
            readonly [On in keyof Guardrails]: Entries<Guardrails[On]>;
        };
        readonly intercepts: {
            readonly [Point in keyof Intercepts]: Entries<Intercepts[Point]>;
        };
        readonly sanitizers: {
            readonly [Point in keyof Sanitizers]: Entries<Sanitizers[Point]>;
        };
        readonly hermes: {
            readonly [Kind in keyof HermesCallbacks]: Entries<HermesCallbacks[Kind]>;
        };
        readonly subscribers: Entries<Subscriber>;
        /** Whether a registration concerns tool calls. */
        readonly tools: boolean;
        /** Whether a registration concerns model calls. */
        readonly models: boolean;
    }
    export const emptySnapshot: Snapshot;
    /** Adds the registrations of inner levels, outermost first, to a snapshot. */
    export function mergeRegistrations(outer: Snapshot, registrationScopes: readonly Families[]): Snapshot;
}

declare module 'hermes-gateway:platforms/adapter' {
    /**
     * The contract of a platform adapter: three required methods, everything else is optional.
     * Each optional member documents what the gateway does without it.
     */
    import type { LogFields, Logger } from 'hermes-gateway:lib/log';
    import type { AcceptResult, ReadCursor } from 'hermes-gateway:message/accept-result';
    import type { ButtonPress, MessageChange } from 'hermes-gateway:message/change';
    import type { Attachment, MessageEvent } from 'hermes-gateway:message/event';
    import type { EventKey } from 'hermes-gateway:message/ids';
    import type { AlbumResult, Button, OutboundAlbum, OutboundAttachment, OutboundMessage, SendResult } from 'hermes-gateway:message/outbound';
    import type { SessionSource, Target } from 'hermes-gateway:message/source';
    import type { ToolCallSummary, ToolView } from 'hermes-gateway:message/tool-view';
    import type { ImagePart } from 'hermes-gateway:message/transcript';
    import type { TurnResult, TurnStatus } from 'hermes-gateway:message/turn-result';
    import type { PlatformAutomation } from 'hermes-gateway:platforms/automation';
    export interface PlatformAdapter {
        /**
         * Starts to receive. Resolves once messages can arrive. May throw: the supervisor retries with increasing delays.
         * Aborting the signal cancels the attempt; `disconnect` follows.
         */
        connect(signal: AbortSignal): Promise<void>;
        /** Stops receiving and releases all resources. May be called twice, and before `connect` has ended. Must not throw. */
        disconnect(): Promise<void>;
        /** Sends one message that fits the limits. Errors of the platform are returned as a `SendResult`, never thrown. */
        send(message: OutboundMessage, signal: AbortSignal): Promise<SendResult>;
        /** What fits into one message. Without it: 4,000 UTF-16 units. */
        readonly limits?: MessageLimits;
        /**
         * Replaces the text of a message that the bot sent. Without it replies are sent once they are complete, not streamed.
         * `final` marks the last edit. An edit is idempotent: repeating it must be harmless.
         * Returns `rejected` for a message that no longer exists; the outbox then sends a new one.
         */
        edit?(messageId: string, message: OutboundMessage, final: boolean, signal: AbortSignal): Promise<SendResult>;
        /** Removes a message that the bot sent. Without it an abandoned draft stays in the chat. */
        remove?(target: Target, messageId: string, signal: AbortSignal): Promise<SendResult>;
        /**
         * Shows that the agent is working; called every few seconds. Without it nothing is shown. A `rate-limited` result
         * slows down the chat; other failures are ignored.
         */
        typing?(target: Target, signal: AbortSignal): Promise<SendResult>;
        /** Attachments can be sent. Without it the outbox sends a line of text with the file name. */
        readonly sendsAttachments?: boolean;
        /** Several files of a reply can be sent together; needs `sendsAttachments`. Without it `send` is called for each file. */
        readonly albums?: AlbumSupport;
        /** Buttons can be sent. Without it users answer with commands, which the text lists. */
        readonly showsButtons?: boolean;
        /**
         * Resolves the address of an attachment that was received with a `ref`. The gateway downloads it, never from a private
         * address unless the origin is `trusted`; headers are sent to the first origin only. May throw: the message is then
         * processed without the file. Without it attachments need a `url`.
         */
        locate?(attachment: Attachment, signal: AbortSignal): Promise<AttachmentAddress>;
        /**
         * Which of these roles of the platform (`user_roles` of plugin.yaml) the sender holds where the message was written.
         * Called for a message of a person whose role depends on it, at most once in five minutes. May throw, and has two
         * seconds: the person then gets the lower role. Without it no one holds such a role.
         */
        heldRoles?(source: SessionSource, names: readonly string[], signal: AbortSignal): Promise<readonly string[]>;
        /**
         * The chats of this account whose name is `name` or resembles it; `name` begins with `#` or `@`. It may return other chats,
         * too, and then a person who misspelt a name is told a similar one. May throw, and has ten seconds. Without it people name
         * chats by id.
         */
        findChats?(name: string, signal: AbortSignal): Promise<readonly FoundChat[]>;
        /**
         * `PlatformContext.commands` has changed while the adapter is connected: updates the native menu in the background. Returns at
         * once. Without it the menu changes when the adapter connects again.
         */
        commandsChanged?(): void;
        /** Shows the activity of the agent (tools). Without it tools run silently. */
        activity?(target: Target, activity: TurnActivity): void;
        /**
         * Determines whether a message arrived although the response to its request was lost. Without it, or for 'unknown', the
         * outbox delivers the message once more with a visible label.
         */
        resolveUnknown?(message: OutboundMessage, signal: AbortSignal): Promise<{
            sent: true;
            messageId?: string;
        } | {
            sent: false;
        } | 'unknown'>;
        /** Delay between two edits of a draft, ms. Without it `streaming.edit_interval` of the configuration. */
        readonly draftIntervalMs?: number;
        /** The adapter marks a draft itself. Without it the outbox appends `streaming.cursor` to each draft. */
        readonly drawsCursor?: boolean;
        /** A draft can only grow: text that was shown stays. A text that a plugin may still replace is not shown. */
        readonly appendsDrafts?: boolean;
        /** Shows a text while it is written, without a message. Without it a message is edited. */
        readonly nativeDrafts?: NativeDrafts;
        /** A message may be sent twice without a label, for example to a page that reads the stored history. */
        readonly idempotentSends?: boolean;
    }
    /**
     * Drafts of the platform: each update replaces the shown text, and a draft vanishes by itself, at the latest when the reply is
     * sent. Its functions must not depend on `this`.
     */
    export interface NativeDrafts {
        /** Whether drafts can be shown here. Must be fast and not throw. */
        isSupported(target: Target): boolean;
        /** Between two updates, ms. */
        readonly intervalMs: number;
        /**
         * Shows or replaces a draft. All updates of a text have the same `draftId`, an integer from 1 to 2^31 - 1. Errors of the
         * platform are returned, never thrown. After `rejected` the text is streamed by edits of a message.
         */
        show(draftId: number, message: OutboundMessage, signal: AbortSignal): Promise<SendResult>;
    }
    /** A chat that the bot can write to. */
    export interface FoundChat {
        readonly chatId: string;
        /** Without `#` and `@`. */
        readonly name: string;
        /** The server or workspace, where several may have a chat of the same name. */
        readonly place?: string;
    }
    /** Sends several files as one album or one message. Its functions must not depend on `this`. */
    export interface AlbumSupport {
        /** The most files of one album, from 2 to 100. */
        readonly maxFiles: number;
        /**
         * Consecutive files of a reply with the same group are sent together. `undefined` for a file that is always sent alone.
         * Must be fast and not throw.
         */
        groupOf(file: GroupableFile): string | undefined;
        /**
         * Sends all files or none. Errors of the platform are returned, never thrown. After `rejected` the outbox calls `send`
         * for each file, so that one bad file does not prevent the others; return it also for a file that cannot be read.
         */
        send(album: OutboundAlbum, signal: AbortSignal): Promise<AlbumResult>;
        /**
         * Resolves like `PlatformAdapter.resolveUnknown`. The album has the `deliveryId` of the call in question, and those
         * of its files whose delivery is still open. Without it, or for 'unknown', the album is delivered once more with a
         * visible label.
         */
        resolveUnknown?(album: OutboundAlbum, signal: AbortSignal): Promise<AlbumLookup>;
    }
    /** `messageIds`: as in `AlbumResult`; leave them out when the album has fewer files than were sent. */
    export type AlbumLookup = {
        readonly sent: true;
        readonly messageIds?: readonly string[];
    } | {
        readonly sent: false;
    } | 'unknown';
    /** What is known of a file before it is opened. */
    export interface GroupableFile extends Pick<OutboundAttachment, 'kind' | 'fileName' | 'mimeType'> {
        readonly source: {
            readonly kind: 'file' | 'url';
        };
    }
    export interface AttachmentAddress {
        readonly url: string;
        readonly headers?: Readonly<Record<string, string>>;
        /** An origin that the operator has configured (`http://127.0.0.1:8081`). It may be in a private network. */
        readonly trusted?: string;
        /** The content type of the response when the credentials are rejected, for example `text/html`. */
        readonly refusedType?: string;
    }
    export interface MessageLimits {
        readonly maxChars: number;
        /** How `maxChars` counts. */
        readonly unit: 'utf16' | 'codepoints' | 'bytes';
        /**
         * Whether a Markdown text within `maxChars` fits into one message, for platforms with further limits. Called for each
         * part of a reply, which is split smaller until all parts fit. Must be fast and not throw. Without it only the
         * length counts.
         */
        fits?(markdown: string): boolean;
    }
    /** The current activity of a turn, for platforms that show it live. It is not stored. */
    export type TurnActivity = {
        readonly kind: 'turn-started';
        readonly turnId: string;
        readonly messageId?: string;
    } | {
        readonly kind: 'tool-started';
        readonly turnId: string;
        readonly callId: string;
        readonly tool: string;
        /** One line without secrets. */
        readonly label: string;
    } | {
        readonly kind: 'tool-ended';
        readonly turnId: string;
        readonly callId: string;
        readonly tool: string;
        readonly ok: boolean;
        /** One line without secrets. */
        readonly summary: string;
    } | {
        readonly kind: 'turn-ended';
        readonly turnId: string;
        readonly status: TurnStatus;
        /** The message that the turn answers. */
        readonly messageId?: string;
    };
    /** A slash command, for platforms with a native command list. */
    export interface CommandEntry {
        readonly name: string;
        readonly description: string;
        /** For example `[name]`; '' when it takes none. */
        readonly argsHint: string;
        /** Other names of the command, which are typed only. */
        readonly aliases?: readonly string[];
        /** The only arguments that it takes, for platforms whose menus list them. Absent when it takes any text. */
        readonly choices?: readonly string[];
    }
    /** The immediate response to a pressed button. */
    export interface PressResult {
        /** `stale`: the question was answered before, or has expired. `refused`: this user may not answer it. */
        readonly status: 'taken' | 'stale' | 'refused';
        /** One short line of plain text. */
        readonly text: string;
    }
    /** One result of `diagnose`, for `hermes doctor`. */
    export interface DiagnosticResult {
        readonly state: 'ok' | 'note' | 'problem';
        /** For the owner; contains no secret. */
        readonly text: string;
        /** The next step; always present for a problem. */
        readonly advice?: string;
    }
    /** One message of a chat as the platform showed it, of a user or of the agent. */
    export interface ChatEntry {
        /** Grows with time; unique within the chat. */
        readonly id: string;
        readonly from: 'user' | 'agent';
        readonly kind: 'message' | 'notice';
        readonly text: string;
        /** ms since 1970. */
        readonly at: number;
        /** The turn that it belongs to, if any. */
        readonly turnId?: string;
        /** The message id that the adapter passed to `accept`. */
        readonly messageId?: string;
        /** A question with buttons, or its result: a later entry with the same `id`, which replaces it. */
        readonly question?: ChatQuestion;
        /** The files of the message, in order. */
        readonly files?: readonly ChatFile[];
    }
    /** A file of a message in the history of a chat. */
    export interface ChatFile {
        readonly kind: Attachment['kind'] | 'image' | 'animation';
        /** '' when the sender gave none. */
        readonly fileName: string;
        readonly mimeType?: string;
        readonly bytes?: number;
        /** For `PlatformFiles.open`, of a file that a user sent. Absent when the gateway does not have it. */
        readonly name?: string;
        /** The `deliveryId` that `send` received with a file of the agent. */
        readonly deliveryId?: string;
        /** The caption of a file of the agent, or ''. */
        readonly caption?: string;
    }
    /** A question of the gateway, as it is now. */
    export interface ChatQuestion {
        readonly id: string;
        /** `accepted`: a choice other than a refusal. `unanswered`: it has expired, or its turn has ended. */
        readonly state: 'open' | 'accepted' | 'refused' | 'unanswered';
        /** For `PlatformContext.press`; empty unless it is open. */
        readonly buttons: readonly Button[];
    }
    /** Selects messages of a chat: the first `limit` after an entry, the last `limit` before one, or the newest. */
    export interface HistoryQuery {
        readonly after?: string;
        readonly before?: string;
        readonly limit: number;
    }
    /** The gateway's side of the contract, passed to each adapter. */
    export interface PlatformContext<Options = Readonly<Record<string, unknown>>> {
        readonly platform: string;
        readonly account: string;
        /** The account's section of the configuration, validated against plugin.yaml. */
        readonly options: Options;
        readonly log: Logger<LogFields>;
        readonly home: string;
        readonly clock: () => number;
        /**
         * Stores an event. Resolves after it is on disk: only then may the event be acknowledged to the platform.
         * The first of `keys` identifies the event; further keys are aliases for deduplication.
         * Throws when nothing was stored. After `inbox/too-large` acknowledge the event all the same and notify the user. After any
         * other error (disk full, starting, stopping) do not acknowledge it, so that the platform delivers it again.
         */
        accept(event: MessageEvent, keys: readonly [EventKey, ...EventKey[]], cursor?: ReadCursor): Promise<AcceptResult>;
        /**
         * For a message that waits for earlier ones of its chat: a command that ends or answers something (`/stop`, `/approve`,
         * `/deny`) is stored after one second, unless `inOrder` has settled. `accept` it in order all the same; it is then a
         * duplicate. Runs in the background.
         */
        acceptIfDelayed(event: MessageEvent, keys: readonly [EventKey, ...EventKey[]], inOrder: Promise<unknown>): void;
        /**
         * Stores a change of an earlier message. Resolves after it is on disk and throws like `accept`. The account's setting
         * `edits` decides about an edit: ignore, amend or rerun. After `refused` (also for a message that was never accepted)
         * acknowledge it and reply nothing. `keys` identify the change, not the message.
         */
        change(change: MessageChange, keys: readonly [EventKey, ...EventKey[]]): Promise<AcceptResult>;
        /**
         * Stores the press of a button. Resolves when the choice is on disk; show the result to the user within the platform's
         * time limit. The gateway edits the message itself. Throws when nothing was stored.
         */
        press(press: ButtonPress): Promise<PressResult>;
        /** The read cursors of this account, by chat or thread. After an outage the adapter fetches newer messages. */
        cursors(): Promise<ReadonlyMap<string, string>>;
        /** How many missed messages of one chat or thread are fetched (`catch_up.max`). The newest count; report an excess there. */
        catchUpLimit(): number;
        /** The slash commands for users, in display order. */
        commands(): readonly CommandEntry[];
        /** Resolves when plugins that are still loading have registered their commands. Await it before a menu of `commands()` is published. */
        commandsComplete(): Promise<void>;
        /**
         * Runs another API call of the adapter (a reaction, a deletion) under the rate limiter of this chat and account. Waits for
         * a permit; rejects when the signal aborts. A `rate-limited` result is recorded, not retried. Must not be called within
         * `send`, `edit`, `remove` or `typing`: these hold the permit of the chat, so the call would wait for itself.
         */
        rateLimited(target: Target, signal: AbortSignal, call: (signal: AbortSignal) => Promise<SendResult>): Promise<SendResult>;
        /** Waits until the turn or command of an accepted event has ended. Rejects when the signal aborts. */
        waitForResult(seq: number, signal: AbortSignal): Promise<TurnResult>;
        /** The result of an accepted event so far: `undefined` until its turn has ended, null when the gateway has it no longer. */
        findResult(seq: number): Promise<TurnResult | null | undefined>;
        /** Asks the turn that works on this event to stop. A no-op when it has ended. */
        stop(seq: number): Promise<void>;
        /** The stored messages of a chat, oldest first. */
        history(chatId: string, query: HistoryQuery): Promise<ChatEntry[]>;
        /** What the agent did in the turns of a chat. */
        readonly toolCalls: ChatToolCalls;
        /** The questions that turns of a chat wait for, for adapters whose clients are programs. */
        readonly questions: PlatformQuestions;
        /** What the adapter has to remember over a restart. */
        readonly records: PlatformRecords;
        /** The files of messages. */
        readonly files: PlatformFiles;
        /** Serves HTTP under `/<prefix>`; see `HttpRoute`. */
        route(route: HttpRoute): void;
        /** Reports health while connected: `connected` again, or `degraded` with a reason. */
        health(state: 'connected' | 'degraded', reason?: string): void;
        /** Reports that the platform has rejected the account permanently. It is stopped until its configuration changes. */
        refused(reason: string): void;
        /** Reports that data arrived: an event, a poll response, a heartbeat. Health derives `receiving` from it. */
        received(): void;
        /** What the adapter may cause besides messages. Its code is loaded with the first call. */
        automation(): Promise<PlatformAutomation>;
        /** What a page may show of the daemon. */
        info(): GatewayInfo;
        /** The model that answers in a conversation. It may have one of its own. */
        modelOf(source: SessionSource): Promise<Pick<GatewayInfo, 'model' | 'provider'>>;
        /** @deprecated Name of 0.1, removed in 0.3. Use `rateLimited`. */
        paced: PlatformContext['rateLimited'];
        /** @deprecated Name of 0.1, removed in 0.3. Use `cursors`. */
        marks: PlatformContext['cursors'];
        /** @deprecated Name of 0.1, removed in 0.3. Use `waitForResult`. */
        outcome: PlatformContext['waitForResult'];
    }
    /** The tool calls of turns. A call is told only of the chat whose message its turn works on. Both reject `store/…`. */
    export interface ChatToolCalls {
        /** The ended calls of these turns, at most 500, in the order of their start. Calls of other chats are left out. */
        list(chatId: string, turnIds: readonly string[]): Promise<readonly ToolCallSummary[]>;
        /**
         * What one call did; without `whole` about as much as a screen shows. Undefined for calls of other chats, and for those of scripts
         * and of sub-agents, which are not stored.
         */
        view(chatId: string, call: {
            readonly turnId: string;
            readonly callId: string;
        }, options: {
            readonly whole: boolean;
        }): Promise<ToolView | undefined>;
    }
    /** The questions of this account alone. Both reject `store/...`. */
    export interface PlatformQuestions {
        /** The open questions of a chat, the oldest first. */
        list(chatId: string): Promise<readonly OpenQuestion[]>;
        /** Stores an answer as the press of a button does. Rejects as `press`. */
        answer(answer: QuestionAnswer): Promise<PressResult>;
    }
    export interface OpenQuestion {
        readonly id: string;
        /** `clarify`: a question of the agent, which may be answered in own words. */
        readonly kind: 'approval' | 'clarify';
        /** The number of the event whose turn waits. */
        readonly seq: number;
        /** Markdown without secrets. */
        readonly text: string;
        readonly choices: readonly {
            readonly answer: string;
            readonly label: string;
        }[];
        /** The subject of an approval. The command is without secrets. */
        readonly subject?: {
            readonly command: string;
            readonly description: string;
            readonly patternKeys: readonly string[];
        };
        /** ms since 1970. */
        readonly expiresAt: number;
    }
    export interface QuestionAnswer {
        /** Who answers, and the chat of the question. */
        readonly source: SessionSource;
        readonly id: string;
        /** The answer to an approval is one of its choices. Without it `text` answers a question of the agent. */
        readonly answer?: string;
        /** The answer in own words, or the reason of a refusal; at most 4,000 characters count. */
        readonly text?: string;
    }
    /**
     * JSON values by key, of this account alone. A value that was not written for `sessions.retention.days` is removed. All methods
     * resolve after the change is on disk and reject `store/...`.
     */
    export interface PlatformRecords {
        get(key: string): Promise<unknown>;
        put(key: string, value: unknown): Promise<void>;
        /** Stores the value unless the key has one. Returns the value that the key has now. */
        insert(key: string, value: unknown): Promise<unknown>;
        remove(key: string): Promise<void>;
        /** The values of keys that begin with `prefix`, by key from the highest one below `before`. */
        list(options: {
            readonly prefix: string;
            readonly before?: string;
            readonly limit: number;
        }): Promise<readonly {
            readonly key: string;
            readonly value: unknown;
        }[]>;
    }
    /** The files of messages, which the gateway keeps under `$HERMES_HOME/media`. */
    export interface PlatformFiles {
        /**
         * The attachment of a complete upload (`POST /api/uploads`). May be called again for the same upload.
         * Throws `media/upload-gone` or `store/full`.
         */
        upload(id: string): Promise<Attachment>;
        /** Stores a file. Throws `media/too-large`, `media/not-fetched`, `store/full`, or the error of the content. */
        store(source: FileSource, about: FileToStore): Promise<Attachment>;
        /**
         * Stores a picture that models can look at. Throws `media/picture-too-large`, `media/picture-refused`, `media/not-fetched`,
         * `store/full`, or the error of the content.
         */
        picture(source: FileSource): Promise<{
            readonly image: ImagePart;
            readonly path: string;
        }>;
        /** Opens a file by its path below the directory, as in `ChatFile.name`. `undefined` when there is none. */
        open(name: string): Promise<OpenedFile | undefined>;
    }
    /** The content, or an address that others have chosen: nothing is downloaded from a private network. */
    export type FileSource = AsyncIterable<Uint8Array> | {
        readonly url: string;
        readonly signal: AbortSignal;
    };
    export interface FileToStore {
        readonly fileName?: string;
        /** What the sender says; the content decides. */
        readonly mimeType?: string;
        /** Default: a name after the content, so that the same file is stored once. An existing file of this name is replaced. */
        readonly name?: {
            readonly folder: string;
            readonly name: string;
        };
    }
    export interface OpenedFile {
        /** By the content. */
        readonly mimeType: string;
        readonly bytes: number;
        readonly content: AsyncIterable<Uint8Array>;
        /** Call it when the content is not read to its end. May be called twice. */
        close(): void;
    }
    export interface GatewayInfo {
        readonly version: string;
        readonly model: string;
        readonly provider: string;
        /** Reasons why the daemon runs degraded; empty when all is well. */
        readonly degraded: readonly string[];
    }
    /** An HTTP route of a platform, with the web standard types `Request` and `Response`. */
    export interface HttpRoute {
        readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
        /** An exact path, one with variable segments (`/v1/runs/{run_id}`), or one ending in `/*`. */
        readonly path: string;
        /**
         * `token`: only with the gateway's bearer token. `public`: for pages without secrets.
         * `own`: the adapter verifies the platform's signature (webhooks).
         */
        readonly access: 'token' | 'public' | 'own';
        /** May throw: the server responds with 500 and logs the error. `request.signal` aborts when the client disconnects. */
        handle(request: Request): Promise<Response> | Response;
        /** For `GET /api/openapi.json`; a route without it is not a public API. Called with the first request for the document. */
        describe?(): Promise<readonly RouteDescription[]>;
    }
    /** What a route takes and returns, for the OpenAPI document. */
    export interface RouteDescription {
        readonly method: HttpRoute['method'];
        /** With the names of its variable parts: `/v1/runs/{run_id}`. */
        readonly path: string;
        readonly access: HttpRoute['access'];
        /** One sentence. */
        readonly summary: string;
        /** The group in which it is shown. */
        readonly tag: string;
        /** The schema of an object: one property for each parameter of the query string. */
        readonly query?: JsonSchema;
        readonly body?: JsonSchema;
        /** Default: `application/json`. */
        readonly bodyType?: string;
        /** By status; those of errors are added. */
        readonly responses: Readonly<Record<number, ResponseDescription>>;
    }
    export interface ResponseDescription {
        readonly description: string;
        readonly schema?: JsonSchema;
        /** Default: `application/json`. */
        readonly contentType?: string;
        /** Whether it also comes as a stream of server-sent events. */
        readonly events?: boolean;
    }
    /** JSON Schema, draft 2020-12. */
    export type JsonSchema = Readonly<Record<string, unknown>>;
    /** The default export of `platforms/<name>/adapter.ts`. */
    export interface PlatformModule<Options = Readonly<Record<string, unknown>>> {
        createAdapter(context: PlatformContext<Options>): PlatformAdapter;
        /**
         * Checks whether an account can work: its token, its permissions, other clients that use it. For `hermes doctor`; changes
         * nothing on the platform. Without it, doctor only reports whether the account is configured.
         */
        diagnose?(account: DiagnosticContext<Options>, signal: AbortSignal): Promise<readonly DiagnosticResult[]>;
        /** The settings of an app that a person pastes into the pages of the platform, as JSON. For `hermes platforms manifest`. */
        appManifest?(commands: readonly CommandEntry[]): unknown;
    }
    export interface DiagnosticContext<Options = Readonly<Record<string, unknown>>> {
        readonly account: string;
        readonly options: Options;
        /** The URL of the running gateway, if any. */
        readonly gatewayUrl?: string;
    }
    /** Types the default export of a platform. */
    export function definePlatform(module: PlatformModule): PlatformModule;
}

declare module 'hermes-gateway:platforms/automation' {
    /**
     * What an adapter may cause besides messages, for platforms whose events come from programs.
     */
    import type { Target } from 'hermes-gateway:message/source';
    /** All functions may reject `store/...`. */
    export interface PlatformAutomation {
        /** Whether the HTTP server of the gateway is reachable from this machine only. */
        listensLocally(): boolean;
        /**
         * The chats that names mean (`telegram`, `telegram:<chat_id>`, `all` for each home channel), each once; none for `local`. A name
         * that means nothing is a problem of all. The problem is for the operator.
         */
        resolveTargets(names: readonly string[], signal: AbortSignal): Promise<{
            readonly targets: readonly Target[];
        } | {
            readonly problem: string;
        }>;
        /** Sends a text to a chat. A second one with the same key sends nothing. */
        send(target: Target, message: {
            readonly key: string;
            readonly text: string;
        }): Promise<void>;
        /** Runs a file below `scripts/` of the home with a text as its input, within two minutes. A failure is a result, too. */
        runScript(name: string, input: string, signal: AbortSignal): Promise<{
            readonly ok: boolean;
            readonly output: string;
        }>;
        /**
         * Lets a scheduled job run now, by its id or name, and ends stored deliveries in the same transaction: an event leads to one run.
         * While the job runs, its next run waits, and gets all events that come meanwhile.
         */
        runJob(name: string, event: {
            /** What the agent is told of the event, besides the prompt of the job. It is data. */
            readonly text: string;
            readonly deliveries: readonly string[];
        }): Promise<'started' | 'paused' | {
            readonly problem: string;
        }>;
        /** The text of skills for the model. */
        readSkills(names: readonly string[]): Promise<string>;
        readonly deliveries: PlatformDeliveries;
    }
    /** Events that the adapter has stored and works on later, also after a crash. */
    export interface PlatformDeliveries {
        /** Resolves when it is on disk. `keys`: further ones are aliases for deduplication. */
        store(delivery: {
            readonly keys: readonly [string, ...string[]];
            readonly group: string;
            readonly body: string;
        }): Promise<'accepted' | 'duplicate'>;
        /** Lists the items that are not done, the oldest first. */
        open(): Promise<readonly {
            readonly key: string;
            readonly group: string;
            readonly receivedAt: number;
        }[]>;
        /** Undefined when it is done. */
        read(key: string): Promise<string | undefined>;
        done(keys: readonly string[]): Promise<void>;
    }
}

declare module 'hermes-gateway:plugins/contract' {
    /**
     * The API of plugins. `register(ctx)` is called once when a plugin is loaded; all registrations are removed in reverse
     * order when it is unloaded (seeds 000, 001, 003; `contract/hermes.md` §2.4).
     *
     * Each registration returns a handle. Names of the contract are in camel case here; payload keys stay as in the seeds.
     */
    import type { z } from 'zod';
    import type { EnvironmentFactory, EnvironmentKind } from 'hermes-gateway:agent/environments/kind';
    import type { ToolMode } from 'hermes-gateway:agent/tools/tool';
    import type { LogFields, Logger } from 'hermes-gateway:lib/log';
    import type { Awaitable, ExecutionOptions, FailureMode, Fields, InterceptOptions, MiddlewareRegistrar, Registration, RegistrationOptions } from 'hermes-gateway:middleware/contract';
    import type { PlatformModule } from 'hermes-gateway:platforms/adapter';
    import type { HookCallback, HookName } from 'hermes-gateway:plugins/hook-map';
    import type { MemoryProvider } from 'hermes-gateway:plugins/memory-provider';
    import type { PluginGuardrails, PluginIntercepts, PluginMiddlewareKinds } from 'hermes-gateway:plugins/model-call-types';
    export interface PluginContext extends MiddlewareRegistrar {
        /** The name of the folder, with its category: `observability/otel`. */
        readonly pluginId: string;
        /** The folder of the plugin. */
        readonly directory: string;
        /** `$HERMES_HOME`, absolute. */
        readonly home: string;
        readonly version: string;
        readonly log: Logger<LogFields>;
        /** `plugins.entries.<id>.settings` with the defaults of `config_schema` in the manifest. */
        readonly config: PluginConfig;
        /** Persistent JSON values, in `$HERMES_HOME/plugin-state/`. */
        readonly state: PluginState;
        /** Completions of the configured model; they pass through middleware as all other model requests. */
        readonly llm: PluginLlm;
        hasPlugin(id: string): boolean;
        /** The environment variable, if `requires_env` or `optional_env` of the manifest names it, and it is not empty. */
        env(name: string): string | undefined;
        /** Works like the method of `MiddlewareRegistrar`; `call.apiMode` tells the type of the request. */
        registerGuardrail<On extends keyof PluginGuardrails>(name: string, on: On, guardrail: PluginGuardrails[On], options?: RegistrationOptions): Registration;
        /** Works like the method of `MiddlewareRegistrar`; requests, chunks and responses have the types of the API mode. */
        registerIntercept<Point extends keyof PluginIntercepts>(name: string, point: Point, intercept: PluginIntercepts[Point], options?: InterceptOptions): Registration;
        /** Works like the method of `MiddlewareRegistrar`; `api_mode` tells the types of the request and of the response. */
        registerMiddleware<Kind extends keyof PluginMiddlewareKinds>(kind: Kind, callback: PluginMiddlewareKinds[Kind], options?: ExecutionOptions): Registration;
        /**
         * Registers a callback for a hook. A callback that throws or times out is logged and skipped. With `fails: 'closed'`,
         * which only `pre_tool_call` supports, the tool call is blocked instead. Unknown names are accepted with a warning.
         */
        registerHook<Name extends HookName>(name: Name, callback: HookCallback<Name>, options?: {
            readonly fails?: FailureMode;
            readonly timeoutMs?: number;
        }): Registration;
        /**
         * Registers a tool for the model, in sessions that start afterwards. Throws `plugins/tool-taken` if the name is in use,
         * unless `override` is set and `plugins.entries.<id>.allow_tool_override` allows it.
         */
        registerTool<Schema extends z.ZodType>(tool: PluginTool<Schema>): Registration;
        /** Registers a slash command. Throws `plugins/command-taken` if the name is in use. */
        registerCommand(command: PluginCommand): Registration;
        /** Registers the adapter of a plugin of kind `platform`; throws `plugins/not-a-platform` in other plugins. */
        registerPlatform(platform: PlatformModule): Registration;
        /** Registers a long-term memory; it is used if `memory.provider` names it. */
        registerMemoryProvider(provider: MemoryProvider): Registration;
        /**
         * Registers an environment in which commands and file tools work; it is used if `terminal.backend` is this name. Throws
         * `plugins/environment-taken` if the name is in use.
         * @param kind what creates the environment of a conversation, alone or with `check` and `recover`
         */
        registerEnvironment(name: string, kind: EnvironmentFactory | EnvironmentKind): Registration;
        /** Adds a section of at most 4,000 characters to the system prompt of sessions that start afterwards. */
        registerSystemPromptSection(name: string, section: string | ((context: PromptSectionContext) => Awaitable<string | null>)): Registration;
        /**
         * Registers a skill as `<plugin>:<name>`. It is read when the agent or a person names it, and is not in the index of the
         * prompt. `path` is its folder or its SKILL.md, absolute or relative to the folder of the plugin.
         */
        registerSkill(name: string, path: string, description?: string): Registration;
        /**
         * Registers a background daemon (seed 003). Daemons are started in the order of registration, stopped in reverse order
         * and restarted after a failure. Throws `plugins/daemon-taken` if the name is in use.
         */
        registerBackgroundDaemon(name: string, startup: () => Awaitable<unknown>, shutdown: () => Awaitable<unknown>, options?: DaemonOptions): Registration;
        /**
         * Adds a message to a session, on behalf of the user who wrote last in it. A message with role `system` starts with
         * `[system]`, so that the model can distinguish it. Resolves with false if the configuration does not allow it
         * (`plugins.entries.<id>.allow_gateway_injection`) or if the session does not exist.
         */
        injectMessage(content: string, options?: {
            readonly role?: 'user' | 'system';
            readonly sessionKey?: string;
        }): Promise<boolean>;
        /**
         * Runs a tool as the agent does, including guardrails and approvals. During a turn the call belongs to the turn and is
         * aborted with it. Elsewhere, for example in a command, it runs in a session of the plugin (`session_id` is
         * `plugin:<id>`), in which approvals cannot be requested. Rejects if the call is denied.
         */
        dispatchTool(name: string, args: Fields): Promise<string>;
        /**
         * Calls a tool of an MCP server that `plugins.entries.<id>.mcp_allowlist` names, as `dispatchTool` runs tools. `timeout` is in
         * seconds, 1 to 600; 30 without it. Rejects `plugins/not-allowed` for every other server, and if the call is denied.
         */
        callMcp(server: string, tool: string, args?: Fields, options?: {
            readonly timeout?: number;
        }): Promise<McpCallResult>;
        /** Registers a callback that is called before the registrations of the plugin are removed. */
        onUnload(callback: () => Awaitable<unknown>): void;
    }
    export interface PluginConfig {
        get(key: string): unknown;
        readonly all: Fields;
    }
    /** Values are JSON. All methods reject with a system error if the file cannot be read or written. */
    export interface PluginState {
        get(key: string): Promise<unknown>;
        set(key: string, value: unknown): Promise<void>;
        delete(key: string): Promise<void>;
        keys(): Promise<readonly string[]>;
    }
    export interface PluginLlm {
        /** One completion without tools; during a turn it is aborted with the turn. Rejects with `ModelError` or the reason of the signal. */
        complete(prompt: string | readonly Fields[], options?: LlmOptions): Promise<LlmResult>;
    }
    export interface LlmOptions {
        readonly system?: string;
        /** Requires `plugins.entries.<id>.llm.allow_model_override`. */
        readonly model?: string;
        readonly maxOutputTokens?: number;
        readonly signal?: AbortSignal;
    }
    export interface LlmResult {
        readonly text: string;
        readonly model: string;
        readonly usage: Fields;
    }
    export interface PluginTool<Schema extends z.ZodType = z.ZodType> {
        readonly name: string;
        /** The plugin's id by default. */
        readonly toolset?: string;
        readonly description: string;
        /** A zod schema or JSON Schema of the arguments. */
        readonly parameters: Schema | Fields;
        /** `effect` by default: the call is never repeated. */
        readonly mode?: ToolMode;
        /** Replaces a tool of the same name. */
        readonly override?: boolean;
        /** Whether calls may run at the same time as others of this kind: it only reads. */
        readonly runsInParallel?: boolean;
        /** Toolsets of platforms that do not have the tool, although they have those of plugins: `hermes-acp` for editors. */
        readonly leftOutOf?: readonly string[];
        check?(): Awaitable<boolean>;
        /** What a call works on, for people: `ls -la`. The gateway makes one line of it. Without it only the name is shown. */
        label?(args: z.output<Schema>): string;
        /**
         * What came of a call, for people, in a few words: `3 of 5 sent`. `result` is the object that `run` returned. Must be fast. Without
         * it the gateway makes a line of the fields of the result.
         */
        summarize?(result: Fields, args: z.output<Schema>): string;
        /** Returns the result for the model: a text, or a value that is converted to JSON. An error becomes `{"error": …}`. */
        run(args: z.output<Schema>, context: PluginToolContext): Awaitable<unknown>;
    }
    export interface PluginToolContext {
        readonly sessionId: string;
        readonly turnId: string;
        readonly toolCallId: string;
        readonly signal: AbortSignal;
        readonly log: Logger<LogFields>;
    }
    export interface PluginCommand {
        /** Lower case, without the slash. */
        readonly name: string;
        readonly description: string;
        /** Displayed after the name: `[topic]`. */
        readonly argsHint?: string;
        /** Returns the reply in Markdown, or null for no reply. Times out after 60 s; the signal then aborts. */
        run(args: string, context: PluginCommandContext): Awaitable<string | null | undefined>;
    }
    export interface PluginCommandContext {
        readonly platform: string;
        readonly userId: string;
        readonly sessionKey: string;
        readonly signal: AbortSignal;
    }
    export interface PromptSectionContext {
        readonly sessionId: string;
        readonly platform: string;
    }
    export interface DaemonOptions {
        readonly periodicTask?: PeriodicTask;
        /** 5,000 by default. */
        readonly shutdownTimeoutMs?: number;
    }
    export interface PeriodicTask {
        readonly name: string;
        /** From the end of one run to the start of the next; above 0, without an upper limit. */
        readonly intervalMs: number;
        /** The task runs immediately after the startup as well. False by default. */
        readonly runAtStart?: boolean;
        run(signal: AbortSignal): Awaitable<unknown>;
    }
    /** The exports of `index.ts`. */
    export interface PluginModule {
        register(context: PluginContext): Awaitable<unknown>;
    }
    /** The type of the function that a plugin exports. */
    export type Register = PluginModule['register'];
    /** The result of a tool of an MCP server. `truncated`: it was longer than 65,536 characters. */
    export type McpCallResult = {
        readonly ok: true;
        readonly result: unknown;
        readonly structuredContent?: unknown;
        readonly truncated?: true;
    } | {
        readonly ok: false;
        readonly error: unknown;
        readonly truncated?: true;
    };
}

declare module 'hermes-gateway:plugins/hook-map' {
    /**
     * The typed map of plugin hooks: when each hook is called, the payload of its callbacks, and the results that it accepts
     * (seed 001, seed 003, `contract/hermes.md` §2.6). Callbacks in Python receive the same keys.
     */
    import type { ApiMode } from 'hermes-gateway:agent/models/provider';
    import type { WireRequest, WireResponse } from 'hermes-gateway:agent/models/wire-types';
    import type { Role } from 'hermes-gateway:message/authority';
    import type { RewriteTrace } from 'hermes-gateway:middleware/managed-call';
    type Json = Readonly<Record<string, unknown>>;
    /** Keys of all payloads. */
    export interface HookEnvelope {
        /** Not in `gateway_platform_event`. */
        readonly telemetry_schema_version: 'hermes.observer.v1';
        /** `<platform>_<chat_type>`; '' on the command line (seed 003). */
        readonly route: string;
    }
    /** One message of a conversation in the format of OpenAI. */
    export type HistoryMessage = Json;
    interface TurnKeys {
        readonly session_id: string;
        /** The id of the session outside of background tasks. */
        readonly task_id: string;
        readonly turn_id: string;
        readonly model: string;
        /** `cli` on the command line. */
        readonly platform: string;
    }
    interface ToolKeys {
        readonly tool_name: string;
        /** Effective arguments. */
        readonly args: Json;
        readonly task_id: string;
        readonly session_id: string;
        readonly tool_call_id: string;
        readonly turn_id: string;
        /** The id of the model call that requested the tool. */
        readonly api_request_id: string;
        /** The role of the person who caused the turn. */
        readonly role: Role;
    }
    interface RequestKeys extends TurnKeys {
        readonly api_request_id: string;
        readonly provider: string;
        readonly base_url: string;
        /** The format of the request and of the response: `chat_completions`, `anthropic_messages`, `codex_responses`. */
        readonly api_mode: string;
        /** Model calls of this turn, including this one. */
        readonly api_call_count: number;
        /** Attempts of this call before this one. */
        readonly retry_count: number;
    }
    interface StreamKeys {
        readonly session_id: string;
        readonly turn_id: string;
        /** From 1. */
        readonly iteration: number;
        readonly model: string;
        readonly provider: string;
        readonly surface: string;
    }
    interface ApprovalKeys {
        readonly command: string;
        readonly description: string;
        readonly pattern_key: string;
        readonly pattern_keys: readonly string[];
        readonly session_key: string;
        readonly surface: 'cli' | 'gateway';
        readonly turn_id: string;
        readonly tool_call_id: string;
    }
    interface SubagentKeys {
        readonly parent_session_id: string;
        readonly parent_turn_id: string;
        readonly child_session_id: string;
        readonly child_role: string;
    }
    /** The payloads of callbacks, by hook. */
    export interface HookPayloads {
        /** Before a tool runs, with its effective arguments. */
        readonly pre_tool_call: ToolKeys & {
            readonly middleware_trace: RewriteTrace;
        };
        /** After a tool call, including failed and blocked calls. */
        readonly post_tool_call: ToolKeys & {
            readonly middleware_trace: RewriteTrace;
            /** Always a text; `{"error": …}` for a failure. */
            readonly result: string;
            readonly duration_ms: number;
            readonly status: 'ok' | 'error' | 'blocked';
            readonly error_type: string | null;
            readonly error_message: string | null;
        };
        /** Before the result of a tool is added to the conversation. */
        readonly transform_tool_result: ToolKeys & {
            readonly result: string;
            readonly duration_ms: number;
            readonly status: 'ok' | 'error' | 'blocked';
            readonly error_type: string | null;
            readonly error_message: string | null;
        };
        /** Once per turn, before its first model call. */
        readonly pre_llm_call: TurnKeys & {
            readonly user_message: string;
            readonly conversation_history: readonly HistoryMessage[];
            readonly is_first_turn: boolean;
            readonly parent_session_id: string;
            readonly sender_id: string;
            /** The role of the person who caused the turn. */
            readonly role: Role;
        };
        /** Once per turn that ended with a response and was not interrupted. */
        readonly post_llm_call: TurnKeys & {
            readonly user_message: string;
            readonly assistant_response: string;
            readonly conversation_history: readonly HistoryMessage[];
        };
        /** The response of a turn, before it is stored and delivered. */
        readonly transform_llm_output: {
            readonly response_text: string;
            readonly session_id: string;
            readonly model: string;
            readonly platform: string;
        };
        /** The first turn of a new session, after its system prompt was created. */
        readonly on_session_start: {
            readonly session_id: string;
            readonly model: string;
            readonly platform: string;
        };
        /** The end of every turn with any result; also when the command line exits during a turn. */
        readonly on_session_end: TurnKeys & {
            readonly completed: boolean;
            readonly failed: boolean;
            readonly interrupted: boolean;
            readonly turn_exit_reason: string;
        };
        /** The end of a session: after `/new`, or when the gateway stops. */
        readonly on_session_finalize: {
            readonly session_id: string | null;
            readonly platform: string;
            readonly reason: string;
            readonly old_session_id: string | null;
            readonly new_session_id: string | null;
        };
        /** A new session replaced another one; after `on_session_finalize`. */
        readonly on_session_reset: {
            readonly session_id: string;
            readonly platform: string;
            readonly reason: string;
            readonly old_session_id: string | null;
            readonly new_session_id: string;
        };
        /** Before each attempt of a model call, with the final request. Only observes. */
        readonly pre_api_request: RequestKeys & {
            readonly request: Json;
            readonly middleware_trace: RewriteTrace;
        };
        /** After a successful attempt. For a reissued iteration, only the last one. */
        readonly post_api_request: RequestKeys & {
            readonly request: Json;
            readonly response: Json;
            readonly usage: Json;
            readonly finish_reason: string;
            readonly duration_ms: number;
            readonly middleware_trace: RewriteTrace;
        };
        /** After a failed attempt. An abort is not a failure. */
        readonly api_request_error: RequestKeys & {
            readonly request: Json;
            readonly status_code: number | null;
            readonly retryable: boolean;
            readonly reason: string;
            readonly error: string;
            readonly error_type: string;
            readonly duration_ms: number;
            readonly middleware_trace: RewriteTrace;
        };
        /** Seed 003: the request before it is sent. The result replaces keys of the request. */
        readonly pre_api_request_mutable: RequestKeys & {
            readonly request: Json;
        };
        /** Seed 003: the tools of this model call. */
        readonly pre_tool_list_finalized: TurnKeys & {
            readonly tools: readonly Json[];
            readonly provider: string;
        };
        /** Seed 003: the response of an iteration, which may be requested once more. */
        readonly post_llm_call_can_reissue: {
            readonly session_id: string;
            readonly turn_id: string;
            readonly iteration: number;
            readonly model: string;
            readonly provider: string;
            readonly api_mode: string;
            readonly request: Json;
            readonly response: Json;
            readonly platform: string;
        };
        /** The model starts to respond. */
        readonly on_stream_start: StreamKeys;
        /** A chunk of the text or of the reasoning. */
        readonly on_stream_delta: StreamKeys & {
            readonly delta: string;
            readonly kind: 'text' | 'reasoning';
        };
        /** The stream ended, with or without an error. */
        readonly on_stream_end: StreamKeys & {
            readonly final_text: string;
            readonly finished: boolean;
            readonly error: string | null;
        };
        /**
         * A message was received, before access is checked. `/stop`, `/approve` and `/deny` do not wait for the hook, and it does
         * not decide about them.
         */
        readonly pre_gateway_dispatch: {
            readonly event: Json;
            /** Null if the message has no session yet. */
            readonly session_key: string | null;
            /** The role of a sender who has access; null for any other. */
            readonly role: Role | null;
        };
        /** A reaction, an edit or a deletion, after access was checked. */
        readonly gateway_platform_event: {
            readonly platform: string;
            readonly event_type: string;
            readonly payload: Json;
        };
        /** A known slash command, before it runs. Only observes. */
        readonly pre_command: {
            readonly surface: 'cli' | 'gateway';
            readonly command: string;
            readonly alias_used: string;
            readonly args_raw: string;
            readonly session_key: string;
            readonly platform: string;
        };
        /** A user is asked for an approval. Only observes. */
        readonly pre_approval_request: ApprovalKeys;
        /** The user decided, or the request timed out. */
        readonly post_approval_response: ApprovalKeys & {
            readonly choice: 'once' | 'session' | 'always' | 'deny' | 'timeout' | 'cancelled';
            readonly decided_by: string;
        };
        /** A sub-agent starts. */
        readonly subagent_start: SubagentKeys & {
            readonly parent_subagent_id: string | null;
            readonly child_subagent_id: string;
            readonly child_goal: string;
        };
        /**
         * A sub-agent ended, or in the background one attempt of it: after a stop of the gateway, a pause or an outage of the model,
         * it goes on with another `subagent_start`.
         */
        readonly subagent_stop: SubagentKeys & {
            readonly child_summary: string;
            readonly child_status: 'completed' | 'failed' | 'interrupted' | 'error';
            readonly tool_call_history: readonly Json[];
            readonly duration_ms: number;
        };
    }
    /** The accepted results. Null, undefined and values of another shape are ignored. */
    export interface HookReturns {
        /**
         * `modify` merges into the arguments, later keys take precedence; `block` rejects the call with the message; `approve`
         * requests an approval. A block takes precedence over all other results.
         */
        readonly pre_tool_call: {
            readonly action: 'block';
            readonly message: string;
        } | {
            readonly action: 'approve';
            readonly message?: string;
            readonly rule_key?: string;
        } | {
            readonly action: 'modify';
            readonly args: Json;
        };
        /** The first text replaces the result. */
        readonly transform_tool_result: string;
        /** All texts, ordered by plugin and joined by blank lines, are added to the user's message for this turn only. */
        readonly pre_llm_call: string | {
            readonly context: string;
        };
        /** The first non-empty text replaces the response. */
        readonly transform_llm_output: string;
        /** Merged in the order of registration. */
        readonly pre_api_request_mutable: {
            readonly override: Json;
        };
        /** The first list is used, for this call only. */
        readonly pre_tool_list_finalized: {
            readonly override: readonly Json[];
        };
        /** The first override is merged into the request; at most one reissue per iteration. */
        readonly post_llm_call_can_reissue: {
            readonly override: Json;
        };
        /** The first valid result is used. */
        readonly pre_gateway_dispatch: {
            readonly action: 'skip';
            readonly reason?: string;
        } | {
            readonly action: 'rewrite';
            readonly text: string;
        } | {
            readonly action: 'allow';
        };
    }
    export type HookName = keyof HookPayloads;
    /** A payload with a request: `api_mode` tells the types of the request and of the response. */
    type TypedByApiMode<Payload> = {
        [Mode in ApiMode]: Omit<Payload, 'api_mode' | 'request' | 'response'> & {
            readonly api_mode: Mode;
            readonly request: WireRequest<Mode>;
        } & (Payload extends {
            readonly response: Json;
        } ? {
            readonly response: WireResponse<Mode>;
        } : unknown);
    }[ApiMode];
    /** The argument of a callback: one object (in Python: keyword arguments). */
    export type HookPayload<Name extends HookName> = (HookPayloads[Name] extends {
        readonly request: Json;
    } ? TypedByApiMode<HookPayloads[Name]> : HookPayloads[Name]) & (Name extends 'gateway_platform_event' ? Pick<HookEnvelope, 'route'> : HookEnvelope);
    /**
     * The result of a callback. Ignored results are not `unknown`: `unknown` would become the constraint of the type, and the
     * literal in `{ action: 'block' }` would be widened to `string`.
     */
    export type HookReturn<Name extends HookName> = Name extends keyof HookReturns ? HookReturns[Name] : NonNullable<unknown>;
    export type HookCallback<Name extends HookName> = (payload: HookPayload<Name>) => HookReturn<Name> | null | undefined | void | Promise<HookReturn<Name> | null | undefined | void>;
    export {};
}

declare module 'hermes-gateway:plugins/memory-provider' {
    /**
     * The contract of a long-term memory (seed 004, `contract/agent.md` S1): the methods of Hermes' `MemoryProvider`, in camel
     * case. One provider is used beside the built-in memory; `memory.provider` names it.
     *
     * One object serves all conversations, so each call says whose conversation it is. Every method but `name` is optional. A
     * call that throws, hangs or returns something else counts as a call without a result.
     */
    import type { Awaitable, Fields } from 'hermes-gateway:middleware/contract';
    export interface MemoryProvider {
        readonly name: string;
        /**
         * What a person said in private is not recalled where others read it. Providers without this are used in private conversations
         * only, unless `memory.group_memory` is `all`.
         */
        readonly separatesChats?: boolean;
        /** Whether it is configured; without network. If false, nothing else but `unavailableReason` is called. */
        isAvailable?(): Awaitable<boolean>;
        /** What is missing, for people. */
        unavailableReason?(): Awaitable<string>;
        /** Called before the other methods for each person in each conversation. */
        initialize?(sessionId: string, context: MemoryContext): Awaitable<unknown>;
        /** Called when the gateway stops or no longer uses the provider. */
        shutdown?(): Awaitable<unknown>;
        /** A part of the system prompt of a new session: at most 8,000 characters. */
        systemPromptBlock?(context: MemoryContext): Awaitable<string | null>;
        /**
         * Called once per turn, before the first model call, unless the message is trivial (`ok`, `thanks`). The result is added to
         * the user's message for this turn only, as data: at most 16,000 characters.
         */
        prefetch?(query: string, context: MemoryContext): Awaitable<string | null>;
        /** Called after a turn: the provider may prepare what the next `prefetch` returns. */
        queuePrefetch?(query: string, context: MemoryContext): Awaitable<unknown>;
        /** A turn with the user begins. `turn` counts from 1 since the gateway started. */
        onTurnStart?(turn: number, message: string, context: MemoryTurnContext): Awaitable<unknown>;
        /** A turn was answered. Called in order, and behind the reply. */
        syncTurn?(user: string, assistant: string, context: MemorySyncContext): Awaitable<unknown>;
        /** A conversation ends with `/new` or by time; `messages` is all of it. */
        onSessionEnd?(messages: readonly Fields[], context: MemoryContext): Awaitable<unknown>;
        /** The conversation goes on in another session, or without its last messages (`rewound`). */
        onSessionSwitch?(newSessionId: string, change: MemorySessionChange, context: MemoryContext): Awaitable<unknown>;
        /** Called before messages are summarized. Returns what the summary must keep: at most 8,000 characters. */
        onPreCompress?(messages: readonly Fields[], context: MemoryContext): Awaitable<string | null>;
        /** The built-in memory was changed: `add`, `replace` or `remove` in `memory` or `user`. */
        onMemoryWrite?(action: string, target: string, content: string, context: MemoryWriteContext): Awaitable<unknown>;
        /** A sub-agent has ended. */
        onDelegation?(task: string, result: string, context: MemoryDelegationContext): Awaitable<unknown>;
        toolSchemas?(): Awaitable<readonly MemoryToolSchema[]>;
        /** Returns the result for the model: a text, or a value that is converted to JSON. */
        handleToolCall?(name: string, args: Fields, context: MemoryToolContext): Awaitable<unknown>;
        /** What a person is asked when the provider is set up. */
        getConfigSchema?(): Awaitable<readonly MemoryConfigField[]>;
        /** Stores what was answered, without secrets: those are in `.env`. */
        saveConfig?(values: Fields, hermesHome: string): Awaitable<unknown>;
    }
    export interface MemoryContext {
        readonly sessionId: string;
        /** The key of the conversation; it stays the same when another session begins. */
        readonly sessionKey: string;
        /** `cli` on the command line. */
        readonly platform: string;
        /** `dm`, `group`, `channel`, `thread`, `forum`. Everywhere but in a `dm` other people read the answers. */
        readonly chatType: string;
        /** The author of the message; '' if it names none. */
        readonly userId: string;
        /** `$HERMES_HOME`, absolute. */
        readonly hermesHome: string;
        /** A provider is called for conversations with people only; the other values of the contract do not occur. */
        readonly agentContext: 'primary' | 'subagent' | 'cron' | 'flush';
        /** '' for a session without a parent. */
        readonly parentSessionId: string;
    }
    export interface MemoryTurnContext extends MemoryContext {
        readonly turnId: string;
        readonly model: string;
    }
    export interface MemorySyncContext extends MemoryContext {
        /** The conversation up to the reply, in the format of OpenAI. Built when it is read. */
        readonly messages: readonly Fields[];
    }
    export interface MemorySessionChange {
        /** The session that is left; '' for a new conversation. */
        readonly parentSessionId: string;
        /** A new conversation begins. */
        readonly reset: boolean;
        /** The same session without its last messages. */
        readonly rewound: boolean;
        /** `new`, `daily`, `idle`, `resume`, `branch`, `compression`, `undo`. */
        readonly reason: string;
    }
    export interface MemoryWriteContext extends MemoryContext {
        /** Such as `old_text`. */
        readonly metadata: Fields;
    }
    export interface MemoryDelegationContext extends MemoryContext {
        readonly childSessionId: string;
    }
    export interface MemoryToolContext extends MemoryContext {
        readonly turnId: string;
        readonly toolCallId: string;
        readonly signal: AbortSignal;
    }
    export interface MemoryToolSchema {
        readonly name: string;
        readonly description: string;
        /** JSON Schema of type object. */
        readonly parameters: Fields;
        /** `effect` if omitted: it is never repeated. */
        readonly mode?: 'pure' | 'idempotent' | 'effect';
    }
    export interface MemoryConfigField {
        readonly key: string;
        readonly description?: string;
        /** The answer is stored in `.env`. */
        readonly secret?: boolean;
        readonly required?: boolean;
        readonly default?: unknown;
        readonly choices?: readonly unknown[];
        /** `text` if omitted; `integer`, `number`, `boolean`. */
        readonly type?: string;
        /** Where a person gets the value. */
        readonly url?: string;
        /** The environment variable of a secret. */
        readonly env_var?: string;
    }
}

declare module 'hermes-gateway:plugins/model-call-types' {
    /**
     * The callbacks of model calls as plugins see them: the request, the chunks and the response have the types of the API mode.
     *
     * The middleware itself knows no models, so its own types are wider (`src/middleware/contract.ts`).
     */
    import type { ApiMode } from 'hermes-gateway:agent/models/provider';
    import type { WireChunk, WireRequest, WireResponse } from 'hermes-gateway:agent/models/wire-types';
    import type { Awaitable, Fields, GuardrailDecision, Guardrails, HermesMiddlewareKinds, Intercepts, LlmExecutionPayload, LlmRequestPayload, ModelCallView, Next, RewriteResult, RewrittenRequest } from 'hermes-gateway:middleware/contract';
    /** A model call. `apiMode` tells the type of the request. */
    export type ModelCall<Mode extends ApiMode = ApiMode> = {
        [One in Mode]: ModelCallView<WireRequest<One>> & {
            readonly apiMode: One;
        };
    }[Mode];
    /** The payload of `llm_request`. `api_mode` tells the type of the request. */
    export type LlmRequestCall<Mode extends ApiMode = ApiMode> = {
        [One in Mode]: LlmRequestPayload<WireRequest<One>> & {
            readonly api_mode: One;
        };
    }[Mode];
    /** The payload of `llm_execution`. `api_mode` tells the types of the request and of what `next_call` returns. */
    export type LlmExecutionCall<Mode extends ApiMode = ApiMode> = {
        [One in Mode]: LlmExecutionPayload<WireRequest<One>, WireResponse<One>> & {
            readonly api_mode: One;
        };
    }[Mode];
    export interface PluginGuardrails extends Omit<Guardrails, 'model'> {
        readonly model: (call: ModelCall) => Awaitable<GuardrailDecision>;
    }
    export interface PluginIntercepts extends Omit<Intercepts, 'model_request' | 'model_execution' | 'model_stream'> {
        readonly model_request: (call: ModelCall) => Awaitable<RewrittenRequest>;
        readonly model_execution: (call: ModelCall, next: Next<Fields, WireResponse>) => Awaitable<unknown>;
        readonly model_stream: (call: ModelCall, next: Next<Fields, AsyncIterable<WireChunk>>) => Awaitable<AsyncIterable<unknown>>;
    }
    type LlmRequestCallback = (payload: LlmRequestCall) => Awaitable<RewriteResult | null | undefined>;
    type LlmExecutionCallback = (payload: LlmExecutionCall) => Awaitable<unknown>;
    export interface PluginMiddlewareKinds extends Omit<HermesMiddlewareKinds, 'llm_request' | 'llm_execution' | 'api_request' | 'api_execution'> {
        readonly llm_request: LlmRequestCallback;
        readonly llm_execution: LlmExecutionCallback;
        /** The older names of `llm_request` and `llm_execution`. */
        readonly api_request: LlmRequestCallback;
        readonly api_execution: LlmExecutionCallback;
    }
    export {};
}

declare module 'hermes-gateway:sdk-deprecated' {
    /**
     * The names that exports of `#sdk` had in version 0.1. They are removed in 0.3.
     */
    export { 
    /** @deprecated Use `extractUsage`. */
    extractUsage as usageIn, } from 'hermes-gateway:agent/models/response-json';
    export { 
    /** @deprecated Use `Coalescer`. */
    type Coalescer as Latest, 
    /** @deprecated Use `createCoalescer`. */
    createCoalescer as createLatest, } from 'hermes-gateway:lib/coalesce';
    export { 
    /** @deprecated Use `isConnectError`. */
    isConnectError as neverArrived, } from 'hermes-gateway:lib/connect-error';
    export { 
    /** @deprecated Use `findSecretRanges`. */
    findSecretRanges as secretLooking, } from 'hermes-gateway:lib/find-secrets';
    export { 
    /** @deprecated Use `asArray`. */
    asArray as list, 
    /** @deprecated Use `asNumber`. */
    asNumber as num, 
    /** @deprecated Use `asRecord`. */
    asRecord as record, 
    /** @deprecated Use `asString`. */
    asString as str, } from 'hermes-gateway:lib/json';
    export { 
    /** @deprecated Use `createLruCache`. */
    createLruCache as createRecent, 
    /** @deprecated Use `LruCache`. */
    type LruCache as Recent, } from 'hermes-gateway:lib/lru-cache';
    export { 
    /** @deprecated Use `formatTable`. */
    formatTable as drawTable, } from 'hermes-gateway:lib/text-table';
    export { 
    /** @deprecated Use `LinkedSignal`. */
    type LinkedSignal as Following, 
    /** @deprecated Use `linkAbortSignal`. */
    linkAbortSignal as follow, 
    /** @deprecated Use `sleep`. */
    sleep as pause, 
    /** @deprecated Use `withTimeout`. */
    withTimeout as within, } from 'hermes-gateway:lib/timers';
    export type { 
    /** @deprecated Use `AcceptResult`. */
    AcceptResult as Accepted, 
    /** @deprecated Use `ReadCursor`. */
    ReadCursor as ReadMark, } from 'hermes-gateway:message/accept-result';
    export type { 
    /** @deprecated Use `BackgroundTask`. */
    BackgroundTask as Task, } from 'hermes-gateway:message/event';
    export { 
    /** @deprecated Internal; there is no replacement. */
    createAgentContext as agentContext, 
    /** @deprecated Internal; there is no replacement. */
    type HookEventListener as EventListener, 
    /** @deprecated Internal; there is no replacement. */
    hookEventNames, 
    /** @deprecated Internal; there is no replacement. */
    truncateForHooks as cutForHooks, } from 'hermes-gateway:message/hook-events';
    export type { 
    /** @deprecated Use `SendFailureKind`. */
    SendFailureKind as SendProblem, } from 'hermes-gateway:message/outbound';
    export { 
    /** @deprecated Internal; there is no replacement. */
    backgroundPlatform, } from 'hermes-gateway:message/source';
    export { 
    /** @deprecated Internal; there is no replacement. */
    addUsage, 
    /** @deprecated Internal; there is no replacement. */
    noUsage, } from 'hermes-gateway:message/transcript';
    export type { 
    /** @deprecated Use `TurnResult`. */
    TurnResult as TurnOutcome, } from 'hermes-gateway:message/turn-result';
    export type { 
    /** @deprecated Use `EventFields`. */
    EventFields as EventParts, 
    /** @deprecated Use `GuardrailDecision`. */
    GuardrailDecision as Verdict, 
    /** @deprecated Use `HermesMiddlewareKinds`. */
    HermesMiddlewareKinds as HermesKinds, 
    /** @deprecated Use `RewriteTraceEntry`. */
    RewriteTraceEntry as TraceEntry, } from 'hermes-gateway:middleware/contract';
    export type { 
    /** @deprecated Use `RewriteTrace`. */
    RewriteTrace as Trace, } from 'hermes-gateway:middleware/managed-call';
    export type { 
    /** @deprecated Use `DiagnosticContext`. */
    DiagnosticContext as DiagnosedAccount, 
    /** @deprecated Use `DiagnosticResult`. */
    DiagnosticResult as Diagnosis, 
    /** @deprecated Use `PressResult`. */
    PressResult as PressAnswer, } from 'hermes-gateway:platforms/adapter';
    export type { 
    /** @deprecated Use `LlmResult`. */
    LlmResult as LlmAnswer, 
    /** @deprecated Use `PromptSectionContext`. */
    PromptSectionContext as SectionAbout, } from 'hermes-gateway:plugins/contract';
    export type { 
    /** @deprecated Use `MemoryContext`. */
    MemoryContext as MemoryAbout, } from 'hermes-gateway:plugins/memory-provider';
}

declare module 'hermes-gateway:sdk' {
    /**
     * The public API (`#sdk`): everything that hooks, plugins and platforms may import of the gateway.
     *
     * Each export is deliberate. `docs/reference/sdk.md` is generated from this file and its declarations, and a test compares
     * the two, so that a change of the API shows in a review. An export that is renamed keeps its old name in
     * `sdk-deprecated.ts` for one minor version.
     */
    export { type Brand, brand } from 'hermes-gateway:lib/ids';
    export type { AcceptResult, ReadCursor } from 'hermes-gateway:message/accept-result';
    export type { ButtonPress, MessageChange, ReactionChange } from 'hermes-gateway:message/change';
    export type { Attachment, BackgroundTask, MessageEvent, MessageType, ParsedCommand } from 'hermes-gateway:message/event';
    export { parseCommand } from 'hermes-gateway:message/event';
    export type { EventKey, SessionId, SessionKey, TurnId } from 'hermes-gateway:message/ids';
    export type { AlbumFile, AlbumResult, Button, OutboundAlbum, OutboundAttachment, OutboundMessage, SendFailureKind, SendResult, } from 'hermes-gateway:message/outbound';
    export { type ChatType, type SessionSource, type Target, targetOf } from 'hermes-gateway:message/source';
    export type { AssistantMessage, ChatMessage, ToolCall, ToolMessage, Usage, UserMessage } from 'hermes-gateway:message/transcript';
    export type { TurnResult, TurnStatus } from 'hermes-gateway:message/turn-result';
    export type { BackgroundCommand, Environment, ExecuteOptions, ExecuteResult, SpawnOptions, } from 'hermes-gateway:agent/environments/environment';
    export type { DirectoryEntry, EnvironmentFiles, FileAccess, FileHit, FileRefusal, FileRefusalCode, FileResult, FileSearchRequest, FileSearchResult, FileStat, } from 'hermes-gateway:agent/environments/files';
    export type { EnvironmentCheck, EnvironmentFactory, EnvironmentKind, EnvironmentRequest, PluginEnvironment, } from 'hermes-gateway:agent/environments/kind';
    export type { RemoteClient, RemoteCommandLine, RemoteCommandOptions, RemoteExit, } from 'hermes-gateway:agent/environments/remote-client';
    export type { RemoteEnvironmentOptions } from 'hermes-gateway:agent/environments/remote-environment';
    export type { ScriptEnvironmentOptions } from 'hermes-gateway:agent/environments/scripts/script-environment';
    export type { ReadOptions } from 'hermes-gateway:agent/support/files';
    export type { ToolCallSummary, ToolView, ToolViewPart } from 'hermes-gateway:message/tool-view';
    export type { AlbumLookup, AlbumSupport, AttachmentAddress, ChatEntry, ChatFile, ChatQuestion, ChatToolCalls, CommandEntry, DiagnosticContext, DiagnosticResult, FileSource, FileToStore, FoundChat, GatewayInfo, GroupableFile, HistoryQuery, HttpRoute, JsonSchema, MessageLimits, NativeDrafts, OpenedFile, OpenQuestion, PlatformAdapter, PlatformContext, PlatformFiles, PlatformModule, PlatformQuestions, PlatformRecords, PressResult, QuestionAnswer, ResponseDescription, RouteDescription, TurnActivity, } from 'hermes-gateway:platforms/adapter';
    export { definePlatform } from 'hermes-gateway:platforms/adapter';
    export type { PlatformAutomation, PlatformDeliveries } from 'hermes-gateway:platforms/automation';
    export type { HookContext, HookEventName, HookEvents, HookServices } from 'hermes-gateway:message/hook-events';
    export type { DaemonOptions, LlmOptions, LlmResult, McpCallResult, PeriodicTask, PluginCommand, PluginCommandContext, PluginConfig, PluginContext, PluginLlm, PluginModule, PluginState, PluginTool, PluginToolContext, PromptSectionContext, Register, } from 'hermes-gateway:plugins/contract';
    export type { HistoryMessage, HookCallback, HookEnvelope, HookName, HookPayload, HookPayloads, HookReturn, HookReturns, } from 'hermes-gateway:plugins/hook-map';
    export type { MemoryConfigField, MemoryContext, MemoryDelegationContext, MemoryProvider, MemorySessionChange, MemorySyncContext, MemoryToolContext, MemoryToolSchema, MemoryTurnContext, MemoryWriteContext, } from 'hermes-gateway:plugins/memory-provider';
    export type { ApiMode } from 'hermes-gateway:agent/models/provider';
    export type { AnthropicBlock, AnthropicChunk, AnthropicDelta, AnthropicImage, AnthropicMessage, AnthropicRequest, AnthropicResponse, AnthropicText, AnthropicToolResult, ChatCompletionsChunk, ChatCompletionsDelta, ChatCompletionsMessage, ChatCompletionsPart, ChatCompletionsRequest, ChatCompletionsResponse, ChatCompletionsTool, ChatCompletionsToolCall, ChatCompletionsUsage, ResponsesChunk, ResponsesItem, ResponsesRequest, ResponsesResponse, WireChunk, WireRequest, WireResponse, } from 'hermes-gateway:agent/models/wire-types';
    export type { LlmExecutionCall, LlmRequestCall, ModelCall, PluginGuardrails, PluginIntercepts, PluginMiddlewareKinds, } from 'hermes-gateway:plugins/model-call-types';
    export type { AnswerMode, Awaitable, EventFields, ExecutionOptions, FailureMode, Fields, GuardrailDecision, Guardrails, HermesMiddlewareKinds, InterceptOptions, Intercepts, LlmExecutionPayload, LlmRequestPayload, ManagedEvent, MiddlewareRegistrar, ModelCallView, Next, PendingMark, Registration, RegistrationOptions, RewriteResult, RewriteTraceEntry, RewrittenRequest, Sanitizers, Scope, ScopeSpec, ScopeType, ToolCallView, ToolExecutionPayload, ToolRequestPayload, } from 'hermes-gateway:middleware/contract';
    export { GuardrailRejected } from 'hermes-gateway:middleware/guardrail-rejected';
    export type { ChunkCollector, ManagedModelCall, ManagedToolCall, Middleware, RewriteTrace, StreamedText, } from 'hermes-gateway:middleware/managed-call';
    export { createMiddleware, type MiddlewareDeps } from 'hermes-gateway:middleware/middleware';
    export { isConnectError } from 'hermes-gateway:lib/connect-error';
    export { assertNever, HermesError, isHermesError, messageOf, systemCode, toError } from 'hermes-gateway:lib/errors';
    export type { LogEventFields, LogFields, Logger } from 'hermes-gateway:lib/log';
    export { extractUsage } from 'hermes-gateway:agent/models/response-json';
    export { type Coalescer, createCoalescer } from 'hermes-gateway:lib/coalesce';
    export { findProgram } from 'hermes-gateway:lib/find-program';
    export { findSecretRanges, type TextRange } from 'hermes-gateway:lib/find-secrets';
    export { decodeHtmlEntities } from 'hermes-gateway:lib/html-entities';
    export { asArray, asNumber, asRecord, asString, isRecord, isTooComplex } from 'hermes-gateway:lib/json';
    export { createLruCache, type LruCache } from 'hermes-gateway:lib/lru-cache';
    export { escapeMath, isMathToken, type MarkedToken, parseMarkdown, tableHasLinks } from 'hermes-gateway:lib/markdown';
    export { mergeRanges, replaceRanges } from 'hermes-gateway:lib/redact';
    export { createRotatingFile, type RotatingFile, type RotatingFileOptions } from 'hermes-gateway:lib/rotating-file';
    export { formatTable, type TableStyle, tableWidth } from 'hermes-gateway:lib/text-table';
    export { backoffMs, type LinkedSignal, linkAbortSignal, raceAbort, sleep, withTimeout } from 'hermes-gateway:lib/timers';
    export { type EarlierMessage, formatEarlierMessages } from 'hermes-gateway:message/earlier-messages';
    export { createLineFilter, type ReservedLines } from 'hermes-gateway:message/untrusted-text';
    export * from 'hermes-gateway:sdk-deprecated';
}

declare module 'hermes-gateway:store/query' {
    /**
     * Transactions as generators over Kysely queries, which an executor runs.
     *
     * A transaction body contains no `await`, clock, randomness or environment; it receives them as arguments. The SQLite executor
     * therefore runs it synchronously between BEGIN and COMMIT, and a PostgreSQL executor can await each step of the same code.
     */
    import type { CompiledQuery, Kysely } from 'kysely';
    import type { Database } from 'hermes-gateway:store/schema';
    /** For conditions that must equal the condition of a partial index: the database does not use the index for bound values. */
    export { sql } from 'kysely';
    export type SqlValue = string | number | null;
    export type QueryParams = Readonly<Record<string, SqlValue>>;
    /** A parameter of a query. The executor compiles each query once and binds the values later. */
    export class Placeholder {
        readonly name: string;
        constructor(name: string);
    }
    interface Compilable<Row> {
        compile(): CompiledQuery<Row>;
    }
    /** A query without its parameter values. Executors cache by identity, so create it once per module. */
    export interface Query<P extends QueryParams, Row> {
        build(db: Kysely<Database>): {
            readonly sql: string;
            readonly parameters: readonly unknown[];
        };
        /** Exists only for type inference. */
        readonly types?: {
            readonly params: P;
            readonly row: Row;
        };
    }
    /** One step of a transaction: a query and its parameter values. */
    export interface QueryStep {
        readonly query: Query<QueryParams, unknown>;
        readonly params: QueryParams;
    }
    /** Rows of the driver. `rows` gives them the type that Kysely inferred for the query. */
    export type RawRows = readonly never[];
    export type Transaction<Result> = Generator<QueryStep, Result, RawRows>;
    /**
     * Declares a query. `p` has one placeholder per parameter, with the type of the parameter:
     * `query((db, p: { key: string }) => db.selectFrom('lanes').where('session_key', '=', p.key).selectAll())`.
     */
    export function query<P extends QueryParams, Row>(build: (db: Kysely<Database>, p: P) => Compilable<Row>): Query<P, Row>;
    /** Runs a query and returns its rows. */
    export function rows<P extends QueryParams, Row>(of: Query<P, Row>, params: P): Transaction<readonly Row[]>;
    /** Runs a query that returns at most one row. */
    export function row<P extends QueryParams, Row>(of: Query<P, Row>, params: P): Transaction<Row | undefined>;
    /** Runs a query without result. */
    export function exec<P extends QueryParams, Row>(of: Query<P, Row>, params: P): Transaction<void>;
}

declare module 'hermes-gateway:store/schema' {
    /**
     * The types of the tables for Kysely. All columns are portable between SQLite and PostgreSQL: booleans are 0 or 1, times are
     * integer milliseconds, and JSON is text. The statements that create the tables are in `migrations/`.
     */
    import type { Generated } from 'kysely';
    export interface Database {
        /** The state of a session key: its current session, and the epoch that fences its turns. */
        lanes: {
            session_key: string;
            session_id: string;
            /** Increases with every claim and reset; a write with an older epoch is refused. */
            epoch: number;
            /** 1 until the first turn of the session has begun. */
            fresh: number;
            /** `SessionSource` of the newest event, JSON. */
            source: string;
            updated_at: number;
        };
        /** What a person has chosen for a conversation (`sessions/session-settings.ts`). */
        session_settings: {
            session_key: string;
            /** JSON object: name → value, both strings. */
            settings: string;
        };
        /** One row per session of a conversation. */
        sessions: {
            id: string;
            session_key: string;
            platform: string;
            user_id: string;
            title: string;
            parent_id: string | null;
            created_at: number;
            updated_at: number;
            ended_at: number | null;
            end_reason: string | null;
            input_tokens: Generated<number>;
            output_tokens: Generated<number>;
            /** US dollars. */
            cost: Generated<number>;
            priced_tokens: Generated<number>;
            /** 1: a title was asked for. */
            title_tried: Generated<number>;
        };
        inbox: {
            seq: Generated<number>;
            session_key: string;
            lane: 'turn' | 'control';
            kind: string;
            platform: string;
            account: string;
            chat_id: string;
            /** `MessageEvent`, JSON. */
            payload: string;
            state: InboxState;
            turn_id: string | null;
            /** Failed attempts in a row: errors, and crashes that only this event can have caused. Progress resets it. */
            tries: Generated<number>;
            /** Crashes in a row during which other events were processed, too. Progress resets it. */
            crashes: Generated<number>;
            /** All crashes that only this event can have caused. Progress does not reset it. */
            own_crashes: Generated<number>;
            /**
             * 1 while the event is being processed, so that the next start finds what a crash interrupted. 2 from the moment that the
             * gateway stops until the event is claimed again.
             */
            attempt_open: Generated<number>;
            /** An interrupted turn is not continued before this time, ms. */
            available_at: number;
            accepted_at: number;
            /** The last error, for people. */
            reason: string | null;
            /** `TurnResult`, JSON, once it has ended. */
            outcome: string | null;
            /** How a message was accepted while its conversation was busy; null for one that found it idle. */
            busy_mode: Generated<BusyMode | null>;
            /** 1: it belongs to the turn of the message before it, if that waits as well. */
            joins: Generated<number>;
        };
        /** The keys by which an event is recognised; the first one is its own. */
        inbox_keys: {
            key: string;
            seq: number;
        };
        turns: {
            id: string;
            session_key: string;
            session_id: string;
            epoch: number;
            state: TurnState;
            stop_requested: Generated<number>;
            /** `SessionSource` of the event that began it, JSON. */
            origin: string;
            /** The user who may approve tool calls of the turn. */
            authority: string;
            route: string;
            reason: string | null;
            model: Generated<string>;
            provider: Generated<string>;
            started_at: number;
            ended_at: number | null;
            /** When the provider of the model stopped answering this turn, ms; null while it answers. */
            outage_since: Generated<number | null>;
            /** The number of the message that ended the turn early. */
            interrupted_by: Generated<number | null>;
        };
        turn_inputs: {
            turn_id: string;
            seq: number;
            how: 'head' | 'merged' | 'steered';
        };
        messages: {
            id: Generated<number>;
            session_id: string;
            turn_id: string | null;
            /** The ordinal within the session. */
            ord: number;
            role: 'user' | 'assistant' | 'tool';
            /** At most 64 kB; a longer text is stored in `texts`. */
            content: string;
            text_id: number | null;
            /** JSON of the assistant's tool calls. */
            tool_calls: string | null;
            tool_call_id: string | null;
            tool_name: string | null;
            /** Data that the provider requires in later requests, JSON. */
            provider_data: string | null;
            usage: string | null;
            /** 0: the model reads it. n: replaced by the nth compression of its session. -1: excluded with its failed turn. -2: taken back by a person. */
            superseded: Generated<number>;
            /** 1: a summary that replaces the messages before it. */
            is_summary: Generated<number>;
            created_at: number;
            /** The pictures of the message, JSON: `ImagePart[]`. */
            images: string | null;
        };
        /** Texts above 64 kB, so that the rows people list and search stay small. */
        texts: {
            id: Generated<number>;
            body: string;
        };
        /** The frozen system prompt of a session, which is not a message and not searched. */
        prompts: {
            session_id: string;
            text: string;
            tools: string | null;
        };
        tool_calls: {
            turn_id: string;
            call_id: string;
            name: string;
            args_hash: string;
            mode: 'pure' | 'idempotent' | 'effect';
            state: 'started' | 'done' | 'interrupted';
            /** JSON of what people read of the call (`ok`, `label`, `summary`). Null for a call without a result, and in rows of earlier versions. */
            result: string | null;
            /** A result that arrived after the turn had continued without it. */
            late_result: string | null;
            started_at: number;
            ended_at: number | null;
        };
        grants: {
            id: Generated<number>;
            scope: string;
            rule: string;
            granted_by: string;
            created_at: number;
        };
        auxiliary_calls: {
            id: Generated<number>;
            session_id: string;
            turn_id: string | null;
            task: string;
            provider: string;
            model: string;
            /** `Usage`, JSON. */
            usage: string;
            created_at: number;
        };
        outbox: {
            id: Generated<number>;
            /** `<turn>:<part>` or another key that is never used twice. */
            key: string;
            platform: string;
            account: string;
            chat_id: string;
            thread_id: string;
            session_key: string | null;
            turn_id: string | null;
            kind: 'reply' | 'notice';
            op: 'send' | 'edit';
            /** The platform's id of the message an edit replaces. */
            target: string | null;
            text: string;
            reply_to: string | null;
            state: OutboxState;
            /** 1: an earlier try may have reached the platform, so the next one needs a label. */
            doubt: Generated<number>;
            tries: Generated<number>;
            due_at: number;
            platform_id: string | null;
            error: string | null;
            /** The file that goes out, JSON. */
            attachment: string | null;
            /** `Button[]`, JSON. */
            buttons: string | null;
            /** The delivery id of the call that sends a file; see `outbox/albums.ts`. */
            album: string | null;
            created_at: number;
            updated_at: number;
        };
        /** The addresses of live drafts, which the final replies replace. */
        drafts: {
            turn_id: string;
            part: number;
            platform: string;
            account: string;
            chat_id: string;
            platform_id: string;
            created_at: number;
        };
        /** The chats for messages that belong to no other chat, as people have chosen them with a command. */
        home_channels: {
            platform: string;
            account: string;
            chat_id: string;
            thread_id: string;
            name: string;
            updated_at: number;
        };
        /** Chats that no longer take messages; see `outbox/dead-targets.ts`. */
        dead_targets: {
            platform: string;
            account: string;
            chat_id: string;
            /** What the platform answered. */
            reason: string;
            /** The newest rows of inbox and outbox at that time. */
            last_seq: number;
            last_outbox: number;
            since: number;
        };
        /** Restarts that were asked for and are not reported yet. */
        restart_requests: {
            id: Generated<number>;
            /** The chat that asked (`Target`, JSON); null for a signal. */
            target: string | null;
            requested_at: number;
        };
        /** Read cursors: how far an account has read a chat or thread (`place`). */
        marks: {
            platform: string;
            account: string;
            place: string;
            last_id: string;
            updated_at: number;
        };
        /** Questions to users, and their answers. */
        questions: {
            id: string;
            kind: string;
            session_key: string;
            platform: string;
            account: string;
            chat_id: string;
            /** The user whose action waits for the answer. */
            asked_user: string;
            /** The ids of the buttons, JSON. */
            choices: string;
            /** What happens after the answer, JSON. */
            payload: string;
            state: 'waiting' | 'answered' | 'expired';
            answer: string | null;
            answered_by: string | null;
            /** The text that the user added to the answer. */
            reason: string | null;
            expires_at: number;
            /** When a running process last saw it: the time limit of an approval stops while no process runs. */
            seen_at: number | null;
            created_at: number;
            answered_at: number | null;
        };
        /** Events in the processing of a message that no other table records. */
        trace: {
            id: Generated<number>;
            session_key: string;
            turn_id: string | null;
            event: string;
            detail: string;
            at: number;
        };
        /** Scheduled jobs (`cron/job-store.ts`). */
        cron_jobs: {
            id: string;
            /** The fields of `cron/jobs.json`, JSON. */
            record: string;
            /** `Authority` of the person who made it, JSON. */
            authority: string;
            /** `<platform>:<user id>` of that person; '' for one without an id. */
            maker: string;
            /** Lower case. */
            name: string;
            /** When a completed job has run last; null for another one. */
            ended_at: number | null;
            next_run_at: number | null;
            /** The scheduled time of the run that has not ended; null without one. */
            slot: number | null;
            /** Its event, once that is stored. */
            seq: number | null;
            /** 1: its script was started. */
            script: number | null;
        };
        /** What adapters have received and work on later (`inbox/deferred-deliveries.ts`). */
        deferred_deliveries: {
            key: string;
            platform: string;
            group_key: string;
            /** The body that the adapter received; '' once it is done. */
            body: string;
            received_at: number;
            done_at: number | null;
        };
        /** One row: what was written into `cron/jobs.json` last (`cron/jobs-file.ts`). */
        cron_file: {
            id: number;
            written: string;
        };
        /** What adapters keep (`flows/platform-records.ts`). */
        platform_records: {
            id: Generated<number>;
            platform: string;
            account: string;
            key: string;
            /** JSON. */
            value: string;
            updated_at: number;
        };
    }
    /** `dead`: a dead letter. Its attempts are used up, and it waits for a user's decision. */
    export type InboxState = 'queued' | 'claimed' | 'done' | 'dead' | 'dropped';
    export type TurnState = 'running' | 'waiting' | 'done' | 'failed' | 'stopped' | 'interrupted';
    /**
     * The first four are the values of `display.busy_input_mode`. `media`: files, which wait for the files that follow them.
     * `refused`: the queue was full, and the sender has not been told yet.
     */
    export type BusyMode = 'interrupt' | 'queue' | 'steer' | 'collect' | 'media' | 'refused';
    /** `unknown`: the platform may have received it. `dead`: a dead letter, as in the inbox. */
    export type OutboxState = 'queued' | 'sending' | 'sent' | 'unknown' | 'dead' | 'dropped';
}
