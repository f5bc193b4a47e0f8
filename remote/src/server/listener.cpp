#include "server/listener.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <asio/awaitable.hpp>
#include <asio/basic_socket_acceptor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/read.hpp>
#include <asio/redirect_error.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <cerrno>
#include <csignal>
#include <deque>
#include <exception>
#include <map>
#include <ostream>

#include "gpucast/support/errors.h"
#include "security/tls.h"
#include "server/client_program.h"
#include "transport/carriers.h"

namespace gpucast::remote::server {
namespace {

using asio::use_awaitable;
using Socket = asio::generic::stream_protocol::socket;

constexpr std::chrono::seconds handshake_time(5);
constexpr std::chrono::seconds ending_time(5);
// Lines a second: enough for many clients, and too few to fill a disk soon.
constexpr int most_comings = 100;

// Maximum of handshakes in progress: enough for many clients on a busy host, and never most of this
// process's descriptors.
std::size_t most_handshakes() {
  constexpr std::size_t crowd = 1024;
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  return std::min<std::size_t>(crowd, descriptors.rlim_cur / 4);
}

asio::const_buffer buffer_of(Bytes bytes) { return {bytes.data(), bytes.size()}; }

std::string text_of(const asio::generic::stream_protocol::endpoint& endpoint) {
  asio::ip::tcp::endpoint tcp;
  std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
  return Endpoint{.host = tcp.address().to_string(), .port = std::to_string(tcp.port())}.text();
}

// Returns the name of the other end, for the log.
std::string peer_of(Socket& socket) {
  asio::error_code gone;
  const auto remote = socket.remote_endpoint(gone);
  if (gone) return "address unknown";
  if (remote.protocol().family() != AF_UNIX) return text_of(remote);
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
    return "process unknown";
  return "process " + std::to_string(peer.pid) + " of user " + std::to_string(peer.uid);
}

class Listener {
 public:
  Listener(const ListenerOptions& options, const BeginClient& begin, std::ostream& ready, Log& log)
      : options_(options), begin_(begin), log_(log) {
    std::string listening;
    for (const Endpoint& endpoint : options.listen)
      listening += "gpucast-gpu-server: listening on " + listen(endpoint) + '\n';
    ready << listening << std::flush;
  }
  ~Listener() {
    for (const std::string& path : paths_)
      ::unlink(path.c_str());
  }

  void run() {
    signals_.async_wait([this](asio::error_code error, int number) {
      if (error) return;
      if (options_.log_clients) {
        say(std::string(number == SIGTERM ? "SIGTERM" : "SIGINT") + ": ends, and " +
            clients_in_words(clients_.size()) + " with it");
      }
      end();
    });
    asio::co_spawn(io_, watch_children(), asio::detached);
    for (const auto& acceptor : acceptors_)
      asio::co_spawn(io_, accept(*acceptor), asio::detached);
    io_.run();
  }

 private:
  using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
  // A connection whose handshake is in progress.
  struct Handshake {
    explicit Handshake(Socket s)
        : socket(std::move(s)), end(socket.get_executor()), peer(peer_of(socket)) {}
    Socket socket;
    asio::steady_timer end;
    std::string peer;
    bool has_spoken = false;
  };
  struct Client {
    pid_t process;
    asio::posix::stream_descriptor others;
    std::string peer;
    bool told_of = false;  // the log has reported it
  };

  static std::string clients_in_words(std::size_t count) {
    return std::to_string(count) + (count == 1 ? " client" : " clients");
  }

  void say(const std::string& line) { log_.say(line); }
  void tell_of_client(const std::string& line) {
    if (const auto now = comings_.take("client " + line, Clock::now())) say(*now);
  }
  // Logs a complaint that strangers can cause.
  void complain(const std::string& what, const Handshake& handshake) {
    if (const auto now = complaints_.take(what + " (" + handshake.peer + ")", Clock::now()))
      return say(*now);
    if (complaints_wait_) return;
    complaints_wait_ = true;
    complaint_timer_.expires_after(Complaints::pause);
    complaint_timer_.async_wait([this](asio::error_code stopped) {
      complaints_wait_ = false;
      if (stopped) return;
      if (const auto rest = complaints_.rest(Clock::now())) say(*rest);
    });
  }

  std::string listen(const Endpoint& endpoint) {
    try {
      return endpoint.is_unix() ? listen_unix(endpoint) : listen_tcp(endpoint);
    } catch (const asio::system_error& error) {
      throw support::InputError(endpoint.text() + ": " + error.code().message());
    }
  }

  std::string listen_unix(const Endpoint& endpoint) {
    // A socket file left by a server that was killed is removed; one with a listener is kept.
    try {
      connect_to(endpoint, Clock::now() + std::chrono::seconds(1));
      throw support::InputError(endpoint.text() + ": another server listens there");
    } catch (const ConnectionLost&) {
      struct stat facts{};
      if (::stat(endpoint.path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode))
        ::unlink(endpoint.path.c_str());
    }
    const mode_t before = ::umask(S_IRWXG | S_IRWXO);
    add(asio::local::stream_protocol::endpoint(endpoint.path));
    ::umask(before);
    paths_.push_back(endpoint.path);
    return endpoint.text();
  }

  std::string listen_tcp(const Endpoint& endpoint) {
    asio::ip::tcp::resolver resolver(io_);
    const asio::ip::tcp::endpoint address =
        *resolver.resolve(endpoint.host, endpoint.port, asio::ip::tcp::resolver::passive).begin();
    if (!address.address().is_loopback() && options_.secret.is_own) {
      throw support::InputError(endpoint.text() +
                                ": other machines reach this address: --secret-file is needed");
    }
    return text_of(add(address));
  }

  asio::generic::stream_protocol::endpoint add(
      const asio::generic::stream_protocol::endpoint& name) {
    return acceptors_.emplace_back(std::make_unique<Acceptor>(io_, name))->local_endpoint();
  }

  asio::awaitable<void> accept(Acceptor& acceptor) {
    while (acceptor.is_open()) {
      asio::error_code error;
      Socket socket = co_await acceptor.async_accept(asio::redirect_error(use_awaitable, error));
      if (error) {
        // The process has probably run out of descriptors: wait until some are closed.
        asio::steady_timer retry(io_, std::chrono::milliseconds(100));
        co_await retry.async_wait(use_awaitable);
        continue;
      }
      if (!handshakes_.empty() && handshakes_.size() >= most_handshakes()) turn_one_away();
      handshakes_.push_back(std::make_shared<Handshake>(std::move(socket)));
      asio::co_spawn(io_, shake_hands(handshakes_.back()), asio::detached);
    }
  }

  // Closes the oldest connection that has not spoken, or else the oldest of all: an honest client
  // has finished by now, and the newest may be an honest client.
  void turn_one_away() {
    const auto silent = std::ranges::find_if(
        handshakes_, [](const auto& handshake) { return !handshake->has_spoken; });
    const auto which = silent == handshakes_.end() ? handshakes_.begin() : silent;
    asio::error_code ignored;
    (*which)->socket.close(ignored);
    handshakes_.erase(which);
  }

  asio::awaitable<void> shake_hands(std::shared_ptr<Handshake> handshake) {
    handshake->end.expires_after(handshake_time);
    handshake->end.async_wait([handshake](asio::error_code stopped) {
      asio::error_code ignored;
      if (!stopped) handshake->socket.close(ignored);
    });
    try {
      co_await exchange(*handshake);
    } catch (const asio::system_error&) {
      complain("a connection ended before it had greeted", *handshake);
    } catch (const std::exception& error) {
      complain(std::string("a connection was refused: ") + error.what(), *handshake);
    }
    release(*handshake);
  }
  // Excludes the connection from those that may be turned away: it is finished, or known to have
  // the secret. However long its process then takes to start, strangers do not push it out.
  void release(Handshake& handshake) {
    handshake.end.cancel();
    std::erase_if(handshakes_, [&](const auto& other) { return other.get() == &handshake; });
  }

  template <class Message>
  static asio::awaitable<Message> hear(Socket& socket) {
    std::array<std::byte, Message::size> bytes{};
    co_await asio::async_read(socket, asio::buffer(bytes), use_awaitable);
    co_return decode<Message>(bytes);
  }
  static asio::awaitable<void> send(Socket& socket, std::vector<std::byte> bytes) {
    co_await asio::async_write(socket, asio::buffer(bytes), use_awaitable);
  }

  asio::awaitable<void> exchange(Handshake& handshake) {
    Socket& socket = handshake.socket;
    tune_tcp(socket.native_handle());
    const auto hello = co_await hear<Hello>(socket);
    handshake.has_spoken = true;
    if (hello.magic != handshake_magic) throw ProtocolError("it does not speak this protocol");
    Challenge challenge{.security = options_.security};
    challenge.carrier = carrier_for(handshake, hello);
    if (is_secure() && hello.purpose != Purpose::control && !clients_.contains(hello.session))
      challenge.entry = Entry::unknown_session;
    fill_random(challenge.nonce);
    co_await send(socket, packed(challenge));
    require_same_language(hello);
    if (!is_secure())
      co_await enter_plainly(handshake, hello, challenge);
    else if (hello.purpose == Purpose::control)
      co_await enter_by_tls(handshake, hello, challenge);
    else
      pass_on(socket, hello, challenge);
  }

  Carrier carrier_for(Handshake& handshake, const Hello& hello) const {
    Socket& socket = handshake.socket;
    const auto* const kind =
        hello.purpose == Purpose::control ? find_carrier(hello.carrier) : nullptr;
    const bool can = kind != nullptr && kind->may_carry(socket.native_handle(), is_secure());
    return can ? kind->number : Carrier::socket;
  }

  bool is_secure() const { return options_.security == Security::tls; }

  void require_same_language(const Hello& hello) const {
    if (hello.version != protocol_version) {
      throw ProtocolError("it speaks version " + std::to_string(hello.version) +
                          " of the protocol, this server " + std::to_string(protocol_version));
    }
    if (hello.security != options_.security) {
      throw ProtocolError(is_secure() ? "it speaks without TLS, which only servers with --plain do"
                                      : "it speaks TLS, which only servers without --plain do");
    }
  }

  asio::awaitable<void> enter_plainly(Handshake& handshake, const Hello& hello,
                                      const Challenge& challenge) {
    Socket& socket = handshake.socket;
    const Key& key = options_.secret.plain;
    const auto answer = co_await hear<Answer>(socket);
    Welcome welcome{.session = hello.session};
    if (!same(answer.mac, prove(key, Side::client, hello, challenge.nonce, answer.nonce))) {
      welcome.entry = Entry::wrong_secret;
      complain("a client has a wrong secret", handshake);
    } else {
      welcome.mac = prove(key, Side::server, hello, challenge.nonce, answer.nonce);
      if (hello.purpose == Purpose::control) {
        Admitted admitted{.security = Security::plain, .carrier = challenge.carrier};
        welcome.entry = co_await begin_client(handshake, welcome.session, admitted);
      } else if (!clients_.contains(hello.session)) {
        welcome.entry = Entry::unknown_session;
      }
    }
    co_await send(socket, packed(welcome));
    if (welcome.entry == Entry::welcome && hello.purpose != Purpose::control)
      pass_on(socket, hello, challenge);
  }

  asio::awaitable<void> enter_by_tls(Handshake& handshake, const Hello& hello,
                                     const Challenge& challenge) {
    Socket& socket = handshake.socket;
    Tls tls(TlsSide::server, options_.secret.tls, identity_of(hello, challenge, Stage::door));
    co_await shake_hands(socket, tls);
    Admission admission;
    Admitted admitted{.security = Security::tls,
                      .identity = identity_of(hello, challenge, Stage::session),
                      .carrier = challenge.carrier};
    fill_random(admitted.key);
    admission.entry = co_await begin_client(handshake, admission.session, admitted);
    admission.key = admitted.key;
    tls.write(packed(admission));
    co_await send(socket, tls);
  }

  static asio::awaitable<void> send(Socket& socket, Tls& tls) {
    for (auto rest = tls.unsent(); !rest.empty(); rest = tls.unsent())
      tls.sent(co_await asio::async_write(socket, buffer_of(rest), use_awaitable));
  }

  // Does what transport/tls_connection.h does for threads.
  static asio::awaitable<void> shake_hands(Socket& socket, Tls& tls) {
    std::optional<TlsError> failed;
    for (bool done = false; !done && !failed;) {
      try {
        done = tls.shake_hands();
      } catch (const TlsError& error) {
        failed = error;
      }
      // The answer is also sent after a failure, so that the other end knows the reason.
      co_await send(socket, tls);
      if (done || failed) continue;
      const std::span<std::byte> room = tls.room();
      tls.came(
          co_await socket.async_read_some(asio::buffer(room.data(), room.size()), use_awaitable));
    }
    if (failed) throw TlsError(*failed);
  }

  // Passes the connection to the client's process. It is closed here in any case; if that process
  // did not receive it, the client notices.
  void pass_on(Socket& socket, const Hello& hello, const Challenge& challenge) {
    const auto client = clients_.find(hello.session);
    if (client == clients_.end()) return;
    Greeted greeted{.purpose = hello.purpose, .number = hello.number};
    if (is_secure()) greeted.identity = identity_of(hello, challenge, Stage::session);
    pass_descriptor(client->second.others.native_handle(), greeted, socket.native_handle());
  }

  // Starts the client's process; returns whether it runs its own program.
  asio::awaitable<Entry> begin_client(Handshake& handshake, SessionId& session, Admitted admitted) {
    if (ending_) co_return Entry::failed;
    if (clients_.size() >= static_cast<std::size_t>(options_.most_clients)) {
      complain("a client was refused: " + clients_in_words(clients_.size()) +
                   (clients_.size() == 1 ? " is" : " are") + " served already",
               handshake);
      co_return Entry::too_many_clients;
    }
    release(handshake);
    fill_random(session);
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      complain(std::string("a client was refused: ") + std::strerror(errno), handshake);
      co_return Entry::failed;
    }
    asio::posix::stream_descriptor ours(io_, ends[0]);
    Descriptor theirs(ends[1]);
    const pid_t process = begin_(handshake.socket.native_handle(), theirs.get());
    theirs.reset();
    if (process == 0) {
      complain("a client was refused: no new process", handshake);
      co_return Entry::failed;
    }
    const bool told = tell(ours.native_handle(), admitted);
    clients_.emplace(session,
                     Client{.process = process, .others = std::move(ours), .peer = handshake.peer});
    const bool begun = told && co_await has_begun(session);
    const auto client = clients_.find(session);
    if (begun && options_.log_clients && client != clients_.end()) {
      client->second.told_of = true;
      tell_of_client(handshake.peer + " was let in, " + std::to_string(clients_.size()) + " of " +
                     std::to_string(options_.most_clients));
    }
    co_return begun ? Entry::welcome : Entry::failed;
  }

  // Waits until the client's process runs its own program; returns false if it ends before.
  asio::awaitable<bool> has_begun(SessionId session) {
    for (auto client = clients_.find(session); client != clients_.end();
         client = clients_.find(session)) {
      asio::posix::stream_descriptor& others = client->second.others;
      char begun = 0;
      const ssize_t got = ::recv(others.native_handle(), &begun, sizeof begun, MSG_DONTWAIT);
      if (got >= 0) co_return got > 0;
      if (errno != EAGAIN && errno != EINTR) co_return false;
      // This may return though there is nothing to read: when connections change quickly, Asio can
      // deliver an event of another one that had the same descriptor.
      asio::error_code gone;
      co_await others.async_wait(asio::posix::descriptor_base::wait_read,
                                 asio::redirect_error(use_awaitable, gone));
      if (gone) co_return false;
    }
    co_return false;
  }

  asio::awaitable<void> watch_children() {
    while (!ending_ || !clients_.empty()) {
      co_await ended_.async_wait(use_awaitable);
      reap();
    }
    io_.stop();
  }

  void reap() {
    std::erase_if(clients_, [this](const auto& entry) {
      int status = 0;
      if (::waitpid(entry.second.process, &status, WNOHANG) == 0) return false;
      if (WIFSIGNALED(status) && !ending_) {
        say("a client's process was killed by signal " + std::to_string(WTERMSIG(status)) + " (" +
            entry.second.peer + ")");
      }
      if (entry.second.told_of) tell_of_client(entry.second.peer + " has left");
      return true;
    });
  }

  void end() {
    ending_ = true;
    for (const auto& acceptor : acceptors_)
      acceptor->close();
    complaint_timer_.cancel();
    if (clients_.empty()) return io_.stop();
    for (const auto& [session, client] : clients_)
      ::kill(client.process, SIGTERM);
    last_moment_.expires_after(ending_time);
    last_moment_.async_wait([this](asio::error_code stopped) {
      if (stopped) return;
      for (const auto& [session, client] : clients_)
        ::kill(client.process, SIGKILL);
    });
  }

  const ListenerOptions& options_;
  const BeginClient& begin_;
  Log& log_;
  asio::io_context io_{1};
  asio::signal_set signals_{io_, SIGTERM, SIGINT};
  asio::signal_set ended_{io_, SIGCHLD};
  asio::steady_timer last_moment_{io_};
  asio::steady_timer complaint_timer_{io_};
  Complaints complaints_;
  Complaints comings_{most_comings};  // and departures
  bool complaints_wait_ = false;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::vector<std::string> paths_;
  std::map<SessionId, Client> clients_;
  std::deque<std::shared_ptr<Handshake>> handshakes_;  // oldest first
  bool ending_ = false;
};

}  // namespace

void serve_clients(const ListenerOptions& options, const BeginClient& begin, std::ostream& ready,
                   Log& log) {
  Listener(options, begin, ready, log).run();
}

}  // namespace gpucast::remote::server
