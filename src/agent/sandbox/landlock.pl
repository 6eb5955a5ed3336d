# Restricts itself with Landlock and becomes another program:
#
#     perl landlock.pl <number of prctl> <number of capget> <rules> <filter> <access>:<path> ... -- <program> <argument> ...
#
# <filter> is a program of seccomp in hexadecimal digits, or "-". <rules> is "files" or "none". With "files" the program reaches only the given paths; <access> is a sum of the bits of
# LANDLOCK_ACCESS_FS. With both it may neither connect to abstract Unix sockets nor signal processes that it has not started
# itself, where the kernel can restrict that (ABI 6, Linux 6.12). With "files" root keeps the capabilities for files of other users
# only: with others it could read the environment of the gateway, or load a module into the kernel. With "files" it exits with 125 when Landlock does not work here;
# with "none" it then starts the program without it.
#
# In Perl, because it can make system calls without a compiler, starts in 3 ms, and is a part of every Debian.
use strict;

my ( $prctl, $capget, $kind, $filter, @rest ) = @ARGV;

# The numbers of these calls are the same on all architectures.
my ( $create_ruleset, $add_rule, $restrict_self ) = ( 444, 445, 446 );

sub fail { print STDERR "landlock: $_[0]\n"; exit 125 }

my $abi = syscall( $create_ruleset, 0, 0, 1 );
fail("the kernel does not support it ($!)") if $kind eq 'files' && $abi < 1;

# What the kernel does not know, it refuses. Calls of devices (ABI 5) stay allowed: terminals need them.
my $known  = $abi >= 3 ? 1 << 15 : $abi == 2 ? 1 << 14 : 1 << 13;
my $files  = $kind eq 'files' ? $known - 1 : 0;
my $scopes = $abi >= 6        ? 3          : 0;
my $attributes = $abi >= 6 ? pack( 'Q3', $files, 0, $scopes ) : pack( 'Q', $files );
my $ruleset;
if ( $files || $scopes ) {
    $ruleset = syscall( $create_ruleset, $attributes, length $attributes, 0 );
    fail("no rules can be made ($!)") if $kind eq 'files' && $ruleset < 0;
}
while ( @rest && $rest[0] ne '--' ) {
    my ( $access, $path ) = shift(@rest) =~ /\A(\d+):(.*)\z/s or fail('a rule cannot be read');
    # O_PATH and O_CLOEXEC. A path that has disappeared needs no rule.
    sysopen( my $place, $path, 0x280000 ) or next;
    my $rule = pack( 'Ql', $access & $files, fileno $place );
    syscall( $add_rule, $ruleset, 1, $rule, 0 ) == 0 or fail("no rule for $path ($!)");
}
shift @rest;
if ( defined $ruleset && $ruleset >= 0 ) {
    # The first call is PR_SET_NO_NEW_PRIVS, which the second one requires.
    my $applied = syscall( $prctl + 0, 38, 1, 0, 0, 0 ) == 0 && syscall( $restrict_self, $ruleset, 0 ) == 0;
    fail("the rules cannot be applied ($!)") if $kind eq 'files' && !$applied;
}
if ( $kind eq 'files' ) {
    # Version 3 of the header, for this process. The data are the effective, permitted and inheritable ones, in two halves.
    my ( $header, $data ) = ( pack( 'LL', 0x20080522, 0 ), pack('x24') );
    syscall( $capget + 0, $header, $data ) == 0 or fail("the capabilities cannot be read ($!)");
    # CAP_CHOWN, CAP_DAC_OVERRIDE and CAP_FOWNER. A program that is started gets no others, because of PR_SET_NO_NEW_PRIVS.
    my $kept = ( unpack 'L6', $data )[1] & 0b1011;
    # The number of capset follows that of capget.
    syscall( $capget + 1, $header, pack( 'L6', $kept, $kept, 0, 0, 0, 0 ) ) == 0
      or fail("the capabilities cannot be dropped ($!)");
}
if ( $filter ne '-' ) {
    my $code = pack( 'H*', $filter );
    # A struct sock_fprog: the number of instructions, and a pointer to them after the padding.
    my $program = pack( 'S x6 P', length($code) / 8, $code );
    # PR_SET_SECCOMP with SECCOMP_MODE_FILTER.
    syscall( $prctl + 0, 22, 2, $program, 0, 0 ) == 0 or fail("the filter cannot be applied ($!)");
}
no warnings 'exec';
exec { $rest[0] } @rest or fail("$rest[0] cannot be started ($!)");
